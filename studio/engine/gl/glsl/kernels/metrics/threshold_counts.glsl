// threshold_counts: counts[c, is_positive, thresholds below] += 1 for the LAUNCH_0 predictions. Whole
// numbers: their order does not show.
#include "counted_entries.glsl"
void main() {
    if (THREAD >= LAUNCH_0) return;
    int r = THREAD / CLASSES, c = THREAD % CLASSES;
    if (class_id >= 0 && c != class_id) return;
    count_counts(BY_CLASS == 1 ? c : 0, int(is_positive(THREAD)), thresholds_below(r, c));
}
