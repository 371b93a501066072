// scatter: y[key, r] = x[key, r] MEET u[k, r] MEET ... over all entries k of that key, in order.
#include "index_places.glsl"
#include "scattering.glsl"
Y_T kernel(int n) {
    int r = n % INNER, key = n / INNER;
    Y_T value = x_at(n);
    for (int k = 0; k < COUNT; ++k) {
        if (key_of(k) == key) value = MEET(value, u_at(k * INNER + r));
    }
    return value;
}
