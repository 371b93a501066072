// loss_sparse_ce, row r: -ln(clip(p_t / sum p)), or logsumexp p - p_t; times its weight. A class
// outside the row gives NaN.
float term(int r) {
    int wanted = int(t_at(r));
    if (wanted < 0 || wanted >= CLASSES) return NOT_A_NUMBER;
    float sum = 0.0;
#if SOURCE == SOURCE_LOGITS
    float high = p_at(r * CLASSES);
    for (int k = 1; k < CLASSES; ++k) high = larger(high, p_at(r * CLASSES + k));
    for (int k = 0; k < CLASSES; ++k) sum += exp(p_at(r * CLASSES + k) - high);
    float loss = high + log(sum) - p_at(r * CLASSES + wanted);
#else
    for (int k = 0; k < CLASSES; ++k) sum += p_at(r * CLASSES + k);
    float loss = -logarithm(within(p_at(r * CLASSES + wanted) / sum, 1e-7, 1.0 - 1e-7));
#endif
#if HAS_WEIGHTS
    loss *= weights(r / POSITIONS);
#endif
    return loss;
}
