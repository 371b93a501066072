// gradient of loss_bce, element i: (q - t) / (q (1 - q)) where the clip passes, or sigmoid(p) - t of
// logits; times dy and the weight, over the number of elements.
DP_T kernel(int i) {
    float guess = p_at(i), wanted = float(t_at(i));
#if SOURCE == SOURCE_LOGITS
    float slope = sigmoid(guess) - wanted;
#else
    bool inside = guess >= 1e-7 && guess <= 1.0 - 1e-7;
    float slope = inside ? (1.0 - wanted) / (1.0 - guess) - wanted / guess : 0.0;
    if (is_nan(guess)) slope = guess;
#endif
#if HAS_WEIGHTS
    slope *= weights(i / ENTRY);
#endif
    return dy() * slope / float(P_NUMEL);
}
