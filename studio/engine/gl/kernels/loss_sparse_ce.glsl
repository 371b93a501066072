// loss_sparse_ce, row r: -ln(clip(p_t / sum p)), or logsumexp p - p_t; times its weight, into
// scratch[r]. A class outside the row gives NaN.
#include "lanes.glsl"
void main() {
    int r = lane_result(), first = r * CLASSES, lane = lane_number();
    bool mine = r < LAUNCH_0;
    float sum = 0.0, high = -INFINITE;
#if SOURCE == SOURCE_LOGITS
    for (int k = lane; k < CLASSES && mine; k += LANES) high = larger(high, p_at(first + k));
    high = largest(high);
    for (int k = lane; k < CLASSES && mine; k += LANES) sum += exp(p_at(first + k) - high);
#else
    for (int k = lane; k < CLASSES && mine; k += LANES) sum += p_at(first + k);
#endif
    sum = summed(sum);
    if (!mine || lane != 0) return;
    int wanted = int(t_at(r));
    float loss = NOT_A_NUMBER;
    if (wanted >= 0 && wanted < CLASSES) {
#if SOURCE == SOURCE_LOGITS
        loss = high + log(sum) - p_at(first + wanted);
#else
        loss = -logarithm(within(p_at(first + wanted) / sum, 1e-7, 1.0 - 1e-7));
#endif
    }
#if HAS_WEIGHTS
    loss *= weights(r / POSITIONS);
#endif
    scratch[r] = loss;
}
