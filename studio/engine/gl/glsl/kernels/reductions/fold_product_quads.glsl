// fold_product_quads: what fold_products does, four neighbouring results at once.
#pragma optionNV(unroll all)
// Parts an invocation reads before it adds the first, so that their latencies overlap.
#define AHEAD 4
// Sums an invocation adds up between two barriers at most.
#define FAN 8
shared vec4 lane_values[GROUP_SIZE];

void main() {
    int each = GROUP_SIZE / LANES, quads = Y_NUMEL / 4;
    int local = int(gl_LocalInvocationIndex);
    int quad = GROUP * each + local % each, lane = local / each;
    vec4 sum = vec4(0.0);
    for (int part = lane; part < LAUNCH_0 && quad < quads; part += AHEAD * LANES) {
        vec4 found[AHEAD];
        for (int k = 0; k < AHEAD; ++k) found[k] = scratch[min(part + k * LANES, LAUNCH_0 - 1) * quads + quad];
        for (int k = 0; k < AHEAD; ++k) {
            if (part + k * LANES < LAUNCH_0) sum += found[k];
        }
    }
    lane_values[local] = sum;
    barrier();
    for (int left = LANES; left > 1; left = max(left / FAN, 1)) {
        int kept = max(left / FAN, 1);
        if (lane < kept) {
            for (int k = kept; k < left; k += kept) sum += lane_values[local + k * each];
            lane_values[local] = sum;
        }
        barrier();
    }
    if (lane > 0 || quad >= quads) return;
#if HAS_BIAS
    sum += bias_load4(quad * 4 % COLS);
#endif
    store_y4_at(quad * 4, sum);
}
