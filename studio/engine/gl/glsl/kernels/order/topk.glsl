// topk: an element of a line of LENGTH, INNER apart, goes to the place that is the number of elements
// before it: those with a lower key, and those with an equal one that stand in front.
#include "order_key.glsl"
uint key_at(int n) {
    uint key = rising_key(x_at(n));
#if ORDER == ORDER_LARGEST
    key = ~key;
#endif
    return key;
}
void main() {
    int n = THREAD;
    if (n >= X_NUMEL) return;
    int r = n % INNER, p = n / INNER % LENGTH, o = n / INNER / LENGTH;
    int first = o * LENGTH * INNER + r, rank = 0;
    uint own = key_at(n);
    for (int j = 0; j < LENGTH && rank < TOP; ++j) {
        uint other = key_at(first + j * INNER);
        if (other < own || (other == own && j < p)) ++rank;
    }
    if (rank >= TOP) return;
    int place = (o * TOP + rank) * INNER + r;
    store_y_at(place, x_at(n));
    store_i_at(place, p);
}
