// gradient of scatter by u: dy where it was brought, times what it was multiplied with; only for the one
// that was marked where one takes the place. 0 outside.
#include "index_places.glsl"
#include "scattering.glsl"
DU_T kernel(int m) {
    int key = key_of(m / INNER), r = m % INNER;
    if (key < 0) return 0.0;
    int n = key * INNER + r;
#if REDUCTION == REDUCTION_ADD
    return dy_at(n);
#elif REDUCTION == REDUCTION_MUL
    float own = u_at(m);
    if (own != 0.0) return dy_at(n) * (y_at(n) / own);
    float rest = x_at(n);
    for (int k = 0; k < COUNT; ++k) {
        if (k != m / INNER && key_of(k) == key) rest *= u_at(k * INNER + r);
    }
    return dy_at(n) * rest;
#else
    return scratch[n] == m ? dy_at(n) : 0.0;
#endif
}
