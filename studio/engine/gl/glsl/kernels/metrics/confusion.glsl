// confusion: counts[target, prediction] += 1 for the LAUNCH_0 rows. Whole numbers: their order does not
// show.
#include "counted_rows.glsl"
void main() {
    if (THREAD >= LAUNCH_0) return;
    int wanted = target_class(THREAD);
    if (wanted >= 0) count_counts(wanted, predicted_class(THREAD));
}
