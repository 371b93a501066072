// grads_conv2d_few_fold: dw and db from the parts grads_conv2d_few left: LANES invocations a sum, in a
// fixed order.
#define SUMS (DW_NUMEL + HAS_DB * FILTERS)
shared float lane_values[GROUP_SIZE];
void main() {
    int each = GROUP_SIZE / LANES;
    int local = int(gl_LocalInvocationIndex);
    int i = GROUP * each + local % each, lane = local / each;
    float sum = 0.0;
    if (i < SUMS) {
        for (int part = lane; part < LAUNCH_0; part += LANES) sum += scratch[part * SUMS + i];
    }
    lane_values[local] = sum;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] += lane_values[local + reach * each];
        barrier();
    }
    if (lane > 0 || i >= SUMS) return;
    sum = lane_values[local];
#if HAS_DB
    if (i >= DW_NUMEL) {
        store_db_at(i - DW_NUMEL, sum);
        return;
    }
#endif
    store_dw_at(i, sum);
}
