// loss_mse, element i: (p - t)^2 times the weight of its entry.
float term(int i) {
    float off = p_at(i) - float(t_at(i));
    float loss = off * off;
#if HAS_WEIGHTS
    loss *= weights(i / ENTRY);
#endif
    return loss;
}
