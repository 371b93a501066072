// gradient of scatter by x: dy times what x was multiplied with; dy where x is the extreme, or where
// nothing took its place.
#include "index_places.glsl"
#include "scattering.glsl"
DX_T kernel(int n) {
#if REDUCTION == REDUCTION_NONE
    return scratch[n] < 0 ? dy_at(n) : 0.0;
#elif REDUCTION == REDUCTION_ADD
    return dy_at(n);
#elif REDUCTION == REDUCTION_MUL
    float x = x_at(n);
    if (x != 0.0) return dy_at(n) * (y_at(n) / x);
    float rest = 1.0;
    for (int k = 0; k < COUNT; ++k) {
        if (key_of(k) == n / INNER) rest *= u_at(k * INNER + n % INNER);
    }
    return dy_at(n) * rest;
#else
    return alike(x_at(n), y_at(n)) ? dy_at(n) : 0.0;
#endif
}
