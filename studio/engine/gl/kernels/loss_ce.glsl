// loss_ce, row r: -sum of t ln(clip(p / sum p)), or sum of t (logsumexp p - p); times its weight.
float term(int r) {
    float high = p_at(r * CLASSES), sum = 0.0, loss = 0.0;
#if SOURCE == SOURCE_LOGITS
    for (int k = 1; k < CLASSES; ++k) high = larger(high, p_at(r * CLASSES + k));
    for (int k = 0; k < CLASSES; ++k) sum += exp(p_at(r * CLASSES + k) - high);
    float log_sum = high + log(sum);
    for (int k = 0; k < CLASSES; ++k) {
        float wanted = float(t_at(r * CLASSES + k));
        if (wanted != 0.0) loss += wanted * (log_sum - p_at(r * CLASSES + k));
    }
#else
    for (int k = 0; k < CLASSES; ++k) sum += p_at(r * CLASSES + k);
    for (int k = 0; k < CLASSES; ++k) {
        float share = within(p_at(r * CLASSES + k) / sum, 1e-7, 1.0 - 1e-7);
        loss -= float(t_at(r * CLASSES + k)) * logarithm(share);
    }
#endif
#if HAS_WEIGHTS
    loss *= weights(r / POSITIONS);
#endif
    return loss;
}
