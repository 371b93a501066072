// fold_products: y[i] = sum over LAUNCH_0 parts of scratch[part][i], + bias; LANES invocations a result,
// in a fixed order.
#if LANES > 1
shared float lane_values[GROUP_SIZE];
#endif
void main() {
    int each = GROUP_SIZE / LANES;
    int local = int(gl_LocalInvocationIndex);
    int i = GROUP * each + local % each, lane = local / each;
    float sum = 0.0;
    if (i < Y_NUMEL) {
        for (int part = lane; part < LAUNCH_0; part += LANES) sum += scratch[part * Y_NUMEL + i];
    }
#if LANES > 1
    lane_values[local] = sum;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] += lane_values[local + reach * each];
        barrier();
    }
    sum = lane_values[local];
#endif
    if (lane > 0 || i >= Y_NUMEL) return;
#if HAS_BIAS
    sum += bias_load(i % COLS);
#endif
    store_y_at(i, sum);
}
