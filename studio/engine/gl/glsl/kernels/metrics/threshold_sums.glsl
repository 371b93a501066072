// threshold_sums: counts[:, c, l, j] += weights of the predictions of that cell, LAUNCH_0 predictions in
// all; an invocation a cell, in a fixed order.
#include "counted_entries.glsl"
#include "sum_pair.glsl"
void main() {
    int cells = THRESHOLDS_NUMEL + 1;
    if (THREAD >= COUNTS_NUMEL / 2) return;
    int j = THREAD % cells, l = THREAD / cells % 2, own = THREAD / cells / 2;
    LongSum sum = LongSum(counts(0, own, l, j), counts(1, own, l, j));
    for (int i = 0; i < LAUNCH_0; ++i) {
        int r = i / CLASSES, c = i % CLASSES;
        if ((class_id >= 0 && c != class_id) || (BY_CLASS == 1 && c != own)) continue;
        if (int(is_positive(i)) != l || thresholds_below(r, c) != j) continue;
        sum = plus(sum, weights_at(r / PER_WEIGHT));
    }
    sum = settled(sum);
    store_counts(0, own, l, j, sum.sum);
    store_counts(1, own, l, j, sum.lost);
}
