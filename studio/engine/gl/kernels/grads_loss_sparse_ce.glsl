// gradient of loss_sparse_ce, row r, with u the unit row of the class. logits: softmax(p) - u;
// softmax: p - u; probs: the chain through clip and p / sum p. Times dy, the weight, and 1 / SHARE.
void main() {
    int r = THREAD;
    if (r * CLASSES >= DP_NUMEL) return;
    int first = r * CLASSES;
    int wanted = int(t_at(r));
    float factor = dy() / SHARE;
#if HAS_WEIGHTS
    factor *= weights(r / POSITIONS);
#endif
    if (wanted < 0 || wanted >= CLASSES) factor = NOT_A_NUMBER;
    float sum = 0.0;
#if SOURCE == SOURCE_PROBS
    for (int k = 0; k < CLASSES; ++k) sum += p_at(first + k);
    float share = p_at(first + clamp(wanted, 0, CLASSES - 1)) / sum;
    if (share < 1e-7 || share > 1.0 - 1e-7) factor *= RUNTIME_ZERO;
    for (int k = 0; k < CLASSES; ++k) {
        float slope = k == wanted ? 1.0 - 1.0 / share : 1.0;
        store_dp_at(first + k, factor * slope / sum);
    }
#elif SOURCE == SOURCE_LOGITS
    float high = p_at(first);
    for (int k = 1; k < CLASSES; ++k) high = larger(high, p_at(first + k));
    for (int k = 0; k < CLASSES; ++k) sum += exp(p_at(first + k) - high);
    for (int k = 0; k < CLASSES; ++k) {
        float share = exp(p_at(first + k) - high) / sum;
        store_dp_at(first + k, factor * (share - float(k == wanted)));
    }
#else
    for (int k = 0; k < CLASSES; ++k) {
        store_dp_at(first + k, factor * (p_at(first + k) - float(k == wanted)));
    }
#endif
}
