// loss_mae, element i: |p - t| times the weight of its entry.
float term(int i) {
    float loss = abs(p_at(i) - float(t_at(i)));
#if HAS_WEIGHTS
    loss *= weights(i / ENTRY);
#endif
    return loss;
}
