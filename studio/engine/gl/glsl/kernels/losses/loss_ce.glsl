// loss_ce, row r: -sum of t ln(clip(p / sum p)), or sum of t (logsumexp p - p); times its weight,
// into y[r], or into scratch[r] where PARTIAL.
#include "lanes.glsl"
void main() {
    int r = lane_result(), first = r * CLASSES, lane = lane_number();
    bool mine = r < LAUNCH_0;
    float sum = 0.0, loss = 0.0;
#if SOURCE == SOURCE_LOGITS
    float high = -INFINITE;
    for (int k = lane; k < CLASSES && mine; k += LANES) high = larger(high, p_at(first + k));
    high = largest(high);
    for (int k = lane; k < CLASSES && mine; k += LANES) sum += exp(p_at(first + k) - high);
    float log_sum = high + log(summed(sum));
    for (int k = lane; k < CLASSES && mine; k += LANES) {
        float wanted = float(t_at(first + k));
        if (wanted != 0.0) loss += wanted * (log_sum - p_at(first + k));
    }
#else
    for (int k = lane; k < CLASSES && mine; k += LANES) sum += p_at(first + k);
    sum = summed(sum);
    for (int k = lane; k < CLASSES && mine; k += LANES) {
        float share = within(p_at(first + k) / sum, 1e-7, 1.0 - 1e-7);
        loss -= float(t_at(first + k)) * logarithm(share);
    }
#endif
    loss = summed(loss);
    if (!mine || lane != 0) return;
#if HAS_WEIGHTS
    loss *= weights(r / POSITIONS);
#endif
#if PARTIAL
    scratch[r] = loss;
#else
    store_y_at(r, loss);
#endif
}
