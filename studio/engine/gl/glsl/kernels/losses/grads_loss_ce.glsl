// gradient of loss_ce, row r. logits: softmax(p) sum t - t; softmax: p sum t - t; probs: the chain
// through clip and p / sum p. All times dy, the weight, and 1 / SHARE.
#include "lanes.glsl"
bool passes(float share) { return share >= 1e-7 && share <= 1.0 - 1e-7; }

void main() {
    int r = lane_result(), first = r * CLASSES, lane = lane_number();
    bool mine = first < DP_NUMEL;
    float factor = dy() / SHARE, sum = 0.0, targets = 0.0;
#if HAS_WEIGHTS
    if (mine) factor *= weights(r / POSITIONS);
#endif
#if SOURCE == SOURCE_PROBS
    for (int k = lane; k < CLASSES && mine; k += LANES) sum += p_at(first + k);
    sum = summed(sum);
    for (int k = lane; k < CLASSES && mine; k += LANES) {
        if (passes(p_at(first + k) / sum)) targets += float(t_at(first + k));
    }
    targets = summed(targets);
    for (int k = lane; k < CLASSES && mine; k += LANES) {
        float share = p_at(first + k) / sum;
        float slope = (passes(share) ? -float(t_at(first + k)) / share : 0.0) + targets;
        store_dp_at(first + k, factor * slope / sum);
    }
#else
    for (int k = lane; k < CLASSES && mine; k += LANES) targets += float(t_at(first + k));
    targets = summed(targets);
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
        store_dp_at(first + k, factor * (share * targets - float(t_at(first + k))));
    }
#endif
}
