// gradient of loss_sparse_ce, row r, with u the unit row of the class. logits: softmax(p) - u;
// softmax: p - u; probs: the chain through clip and p / sum p. Times dy, the weight, and 1 / SHARE.
#include "lanes.glsl"
#include "kept_row.glsl"
void main() {
    int r = lane_result();
    bool mine = r * CLASSES < DP_NUMEL;
    int first = (mine ? r : 0) * CLASSES, wanted = mine ? int(t_at(r)) : 0;
    keep_row(first);
    float factor = dy() / SHARE, sum = 0.0;
#if HAS_WEIGHTS
    if (mine) factor *= weights(r / POSITIONS);
#endif
    bool known = wanted >= 0 && wanted < CLASSES;
    if (!known) factor = NOT_A_NUMBER;
#if SOURCE == SOURCE_PROBS
    float chosen = known ? p_at(first + wanted) : 1.0;
    for (int j = 0; j < PER_LANE; ++j) if (owns(j)) sum += row_value(first, j);
    sum = summed(sum);
    chosen = mine && known ? chosen / sum : 1.0;
    if (chosen < 1e-7 || chosen > 1.0 - 1e-7) factor *= RUNTIME_ZERO;
    for (int j = 0; j < PER_LANE; ++j) {
        float slope = own_place(j) == wanted ? 1.0 - 1.0 / chosen : 1.0;
        if (mine && owns(j)) store_dp_at(first + own_place(j), factor * slope / sum);
    }
#else
#if SOURCE == SOURCE_LOGITS
    float high = -INFINITE;
    for (int j = 0; j < PER_LANE; ++j) if (owns(j)) high = larger(high, row_value(first, j));
    high = largest(high);
    for (int j = 0; j < PER_LANE; ++j) if (owns(j)) sum += exp(row_value(first, j) - high);
    sum = summed(sum);
#endif
    for (int j = 0; j < PER_LANE; ++j) {
#if SOURCE == SOURCE_LOGITS
        float share = exp(row_value(first, j) - high) / sum;
#else
        float share = row_value(first, j);
#endif
        if (mine && owns(j)) store_dp_at(first + own_place(j), factor * (share - float(own_place(j) == wanted)));
    }
#endif
}
