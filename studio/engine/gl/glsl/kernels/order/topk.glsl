// topk: an element of a line of LENGTH, INNER apart, goes to the place that is the number of elements
// before it: those with a lower key, and those with an equal one that stand in front.
#include "ranked.glsl"
void main() {
    int n = THREAD;
    if (n >= X_NUMEL) return;
    int r = n % INNER, p = n / INNER % LENGTH, o = n / INNER / LENGTH;
    int first = o * LENGTH * INNER + r, rank = 0;
    uint own = ranked_key(n);
    for (int j = 0; j < LENGTH && rank < TOP; ++j) {
        uint other = ranked_key(first + j * INNER);
        if (other < own || (other == own && j < p)) ++rank;
    }
    if (rank >= TOP) return;
    int place = (o * TOP + rank) * INNER + r;
    store_y_at(place, x_at(n));
    store_i_at(place, p);
}
