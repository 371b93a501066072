// loss_bce, element i: -(t ln q + (1 - t) ln(1 - q)) with q = clip(p), or
// max(p, 0) - p t + ln(1 + e^-|p|) of logits; times the weight of its entry.
float term(int i) {
    float guess = p_at(i), wanted = float(t_at(i));
#if SOURCE == SOURCE_LOGITS
    float loss = softplus(guess) - guess * wanted;
#else
    float q = within(guess, 1e-7, 1.0 - 1e-7);
    float loss = -(wanted * logarithm(q) + (1.0 - wanted) * logarithm(1.0 - q));
#endif
#if HAS_WEIGHTS
    loss *= weights(i / ENTRY);
#endif
    return loss;
}
