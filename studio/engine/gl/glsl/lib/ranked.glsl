// Whole numbers by which elements are ranked, the lowest first.
#include "order_key.glsl"
uint ranked_key(int n) {
    uint key = rising_key(x_at(n));
#if ORDER == ORDER_LARGEST
    key = ~key;
#endif
    return key;
}
