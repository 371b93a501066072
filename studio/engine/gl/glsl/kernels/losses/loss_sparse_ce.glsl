// loss_sparse_ce, row r: -ln(clip(p_t / sum p)), or logsumexp p - p_t; times its weight, into
// y[r], or into scratch[r] where PARTIAL. A class outside the row gives NaN.
#include "lanes.glsl"
#include "kept_row.glsl"
void main() {
    int r = lane_result();
    bool mine = r < LAUNCH_0;
    int first = (mine ? r : 0) * CLASSES, wanted = mine ? int(t_at(r)) : 0;
    keep_row(first);
    float sum = 0.0, high = -INFINITE, chosen = p_at(first + clamp(wanted, 0, CLASSES - 1));
#if SOURCE == SOURCE_LOGITS
    for (int j = 0; j < PER_LANE; ++j) if (owns(j)) high = larger(high, row_value(first, j));
    high = largest(high);
    for (int j = 0; j < PER_LANE; ++j) if (owns(j)) sum += exp(row_value(first, j) - high);
#else
    for (int j = 0; j < PER_LANE; ++j) if (owns(j)) sum += row_value(first, j);
#endif
    sum = summed(sum);
    if (!mine || lane_number() != 0) return;
    float loss = NOT_A_NUMBER;
    if (wanted >= 0 && wanted < CLASSES) {
#if SOURCE == SOURCE_LOGITS
        loss = high + log(sum) - chosen;
#else
        loss = -logarithm(within(chosen / sum, 1e-7, 1.0 - 1e-7));
#endif
    }
#if HAS_WEIGHTS
    loss *= weights(r / POSITIONS);
#endif
#if PARTIAL
    scratch[r] = loss;
#else
    store_y_at(r, loss);
#endif
}
