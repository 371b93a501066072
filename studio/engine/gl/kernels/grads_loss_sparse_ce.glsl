// gradient of loss_sparse_ce, row r, with u the unit row of the class. logits: softmax(p) - u;
// softmax: p - u; probs: the chain through clip and p / sum p. Times dy, the weight, and 1 / SHARE.
#include "lanes.glsl"
void main() {
    int r = lane_result(), first = r * CLASSES, lane = lane_number();
    bool mine = first < DP_NUMEL;
    int wanted = mine ? int(t_at(r)) : 0;
    float factor = dy() / SHARE, sum = 0.0;
#if HAS_WEIGHTS
    if (mine) factor *= weights(r / POSITIONS);
#endif
    bool known = wanted >= 0 && wanted < CLASSES;
    if (!known) factor = NOT_A_NUMBER;
#if SOURCE == SOURCE_PROBS
    for (int k = lane; k < CLASSES && mine; k += LANES) sum += p_at(first + k);
    sum = summed(sum);
    float chosen = mine && known ? p_at(first + wanted) / sum : 1.0;
    if (chosen < 1e-7 || chosen > 1.0 - 1e-7) factor *= RUNTIME_ZERO;
    for (int k = lane; k < CLASSES && mine; k += LANES) {
        float slope = k == wanted ? 1.0 - 1.0 / chosen : 1.0;
        store_dp_at(first + k, factor * slope / sum);
    }
#else
#if SOURCE == SOURCE_LOGITS
    float high = -INFINITE;
    for (int k = lane; k < CLASSES && mine; k += LANES) high = larger(high, p_at(first + k));
    high = largest(high);
    for (int k = lane; k < CLASSES && mine; k += LANES) sum += exp(p_at(first + k) - high);
    sum = summed(sum);
#endif
    for (int k = lane; k < CLASSES && mine; k += LANES) {
#if SOURCE == SOURCE_LOGITS
        float share = exp(p_at(first + k) - high) / sum;
#else
        float share = p_at(first + k);
#endif
        store_dp_at(first + k, factor * (share - float(k == wanted)));
    }
#endif
}
