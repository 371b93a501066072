// scatter_marks: for each element of x the last of u that is brought there; of extremes the first of u
// that is the extreme, unless x is. Which one is found does not depend on the order of invocations.
#include "index_places.glsl"
#include "scattering.glsl"
void main() {
    int m = THREAD;
    if (m >= COUNT * INNER) return;
    int key = key_of(m / INNER);
    if (key < 0) return;
    int n = key * INNER + m % INNER;
#if REDUCTION == REDUCTION_NONE
    atomicMax(scratch[n], m);
#else
    float best = y_at(n);
    if (alike(u_at(m), best) && !alike(x_at(n), best)) atomicMin(scratch[n], m);
#endif
}
