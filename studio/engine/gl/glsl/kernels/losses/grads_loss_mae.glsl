// gradient of loss_mae, element i: the sign of p - t over the number of elements, times dy and weight.
DP_T kernel(int i) {
    float slope = sign_of(p_at(i) - float(t_at(i))) / float(P_NUMEL);
#if HAS_WEIGHTS
    slope *= weights(i / ENTRY);
#endif
    return dy() * slope;
}
