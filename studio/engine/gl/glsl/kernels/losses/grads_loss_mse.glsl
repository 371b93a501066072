// gradient of loss_mse, element i: 2 (p - t) over the number of elements, or p - t for Dylann's
// sum; times dy and the weight.
DP_T kernel(int i) {
    float slope = p_at(i) - float(t_at(i));
#if !DYLANN_SUM
    slope *= 2.0 / float(P_NUMEL);
#endif
#if HAS_WEIGHTS
    slope *= weights(i / ENTRY);
#endif
    return dy() * slope;
}
