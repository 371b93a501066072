// gather: y[o, k, r] = x[o, key k, r] over INNER elements; NOWHERE where an index is outside.
#include "index_places.glsl"
Y_T kernel(int n) {
    int r = n % INNER, k = n / INNER % COUNT, o = n / INNER / COUNT;
    int key = key_of(k);
    if (key < 0) return NOWHERE;
    return x_at((o * KEYS + key) * INNER + r);
}
