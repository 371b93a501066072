// augment_standardize, one picture a work group: (x - min) / (max - min) (high - low) + low, or with
// moments (x - mean) / deviation high + low; a flat picture becomes low.
#include "group_sum.glsl"
#include "group_extremes.glsl"
void main() {
    int n = GROUP;
    if (n >= X_D0) return;
    int first = n * ENTRY, lane = int(gl_LocalInvocationIndex);
    float least = INFINITE, most = -INFINITE, sum = 0.0;
    for (int k = lane; k < ENTRY; k += GROUP_SIZE) {
        float value = x_at(first + k);
        least = smaller(least, value);
        most = larger(most, value);
        sum += value;
    }
    least = group_least(least);
    most = -group_least(-most);
    float start = least, span = most - least, range = high - low;
#if MOMENTS
    start = group_sum(sum) / float(ENTRY);
    float squares = 0.0;
    for (int k = lane; k < ENTRY; k += GROUP_SIZE) {
        float off = x_at(first + k) - start;
        squares += off * off;
    }
    span = sqrt(group_sum(squares) / float(ENTRY));
    range = high;
#endif
    bool is_flat = most == least;
    for (int k = lane; k < ENTRY; k += GROUP_SIZE) {
        float value = (x_at(first + k) - start) * (range / span) + low;
        store_y_at(first + k, is_flat ? low : value);
    }
}
