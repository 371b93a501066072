// confusion_sums: counts[:, target, prediction] += weights of the LAUNCH_0 rows; an invocation a target,
// in a fixed order.
#include "counted_rows.glsl"
#include "sum_pair.glsl"
void main() {
    if (THREAD >= CLASSES) return;
    for (int r = 0; r < LAUNCH_0; ++r) {
        if (target_class(r) != THREAD) continue;
        int guess = predicted_class(r);
        LongSum sum = LongSum(counts(0, THREAD, guess), counts(1, THREAD, guess));
        sum = settled(plus(sum, weights_at(r / PER_WEIGHT)));
        store_counts(0, THREAD, guess, sum.sum);
        store_counts(1, THREAD, guess, sum.lost);
    }
}
