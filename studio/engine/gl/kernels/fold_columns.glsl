// fold_columns: y[c] = sum of scratch[part][c] over LAUNCH_0 parts, LANES invocations a column, in a
// fixed order; LAUNCH_1 columns.
#if LANES > 1
shared float lane_sums[GROUP_SIZE];
#endif
void main() {
    int cols = LAUNCH_1;
    int each = GROUP_SIZE / LANES;
    int local = int(gl_LocalInvocationIndex);
    int c = GROUP * each + local % each, lane = local / each;
    float sum = 0.0;
    if (c < cols) {
        for (int part = lane; part < LAUNCH_0; part += LANES) sum += scratch[part * cols + c];
    }
#if LANES > 1
    lane_sums[local] = sum;
    memoryBarrierShared();
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_sums[local] += lane_sums[local + reach * each];
        memoryBarrierShared();
        barrier();
    }
    sum = lane_sums[local];
#endif
    if (lane == 0 && c < cols) store_y_at(c, sum);
}
