// gradient of gather: dx[o, key, r] = the sum of dy[o, k, r] over all entries k of that key, in order.
#include "index_places.glsl"
#include "long_sum.glsl"
DX_T kernel(int n) {
    int r = n % INNER, key = n / INNER % KEYS, o = n / INNER / KEYS;
    LongSum sum = LongSum(0.0, 0.0);
    for (int k = 0; k < COUNT; ++k) {
        if (key_of(k) == key) sum = plus(sum, dy_at((o * COUNT + k) * INNER + r));
    }
    return whole(sum);
}
