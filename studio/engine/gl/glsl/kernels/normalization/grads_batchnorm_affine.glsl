// grads_batchnorm_affine: dbeta = sum of dy and dgamma = sum of dy (x - mean) / deviation from the parts
// grads_batchnorm_columns left; LANES invocations a channel, in a fixed order. HAS_STATS parts have sums
// of dy (x - mean).
#include "deviation.glsl"
shared vec2 lane_values[GROUP_SIZE];
void main() {
    int parts = LAUNCH_0;
    int each = GROUP_SIZE / LANES;
    int local = int(gl_LocalInvocationIndex);
    int c = GROUP * each + local % each, lane = local / each;
    vec2 sum = vec2(0.0);
    for (int part = lane; part < parts && c < COLS; part += LANES) {
        int at = part * COLS + c;
        sum += vec2(scratch[at], scratch[parts * COLS + at]);
    }
    lane_values[local] = sum;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] += lane_values[local + reach * each];
        barrier();
    }
    if (lane != 0 || c >= COLS) return;
#if HAS_STATS
    lane_values[local].y = divided(lane_values[local].y, c);
#endif
#if WANT_DBETA
    store_dbeta_at(c, lane_values[local].x);
#endif
#if WANT_DGAMMA
    store_dgamma_at(c, lane_values[local].y);
#endif
}
