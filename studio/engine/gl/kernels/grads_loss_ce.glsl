// gradient of loss_ce, row r. logits: softmax(p) sum t - t; softmax: p sum t - t; probs: the chain
// through clip and p / sum p. All times dy, the weight, and 1 / SHARE.
void main() {
    int r = THREAD;
    if (r * CLASSES >= DP_NUMEL) return;
    int first = r * CLASSES;
    float factor = dy() / SHARE;
#if HAS_WEIGHTS
    factor *= weights(r / POSITIONS);
#endif
    float sum = 0.0, targets = 0.0;
    for (int k = 0; k < CLASSES; ++k) targets += float(t_at(first + k));
#if SOURCE == SOURCE_PROBS
    for (int k = 0; k < CLASSES; ++k) sum += p_at(first + k);
    float spread = 0.0;
    for (int k = 0; k < CLASSES; ++k) {
        float share = p_at(first + k) / sum;
        if (share >= 1e-7 && share <= 1.0 - 1e-7) spread += float(t_at(first + k));
    }
    for (int k = 0; k < CLASSES; ++k) {
        float share = p_at(first + k) / sum;
        bool inside = share >= 1e-7 && share <= 1.0 - 1e-7;
        float slope = (inside ? -float(t_at(first + k)) / share : 0.0) + spread;
        store_dp_at(first + k, factor * slope / sum);
    }
#elif SOURCE == SOURCE_LOGITS
    float high = p_at(first);
    for (int k = 1; k < CLASSES; ++k) high = larger(high, p_at(first + k));
    for (int k = 0; k < CLASSES; ++k) sum += exp(p_at(first + k) - high);
    for (int k = 0; k < CLASSES; ++k) {
        float share = exp(p_at(first + k) - high) / sum;
        store_dp_at(first + k, factor * (share * targets - float(t_at(first + k))));
    }
#else
    for (int k = 0; k < CLASSES; ++k) {
        float wanted = float(t_at(first + k));
        store_dp_at(first + k, factor * (p_at(first + k) * targets - wanted));
    }
#endif
}
