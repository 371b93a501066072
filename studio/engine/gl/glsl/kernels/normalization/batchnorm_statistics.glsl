// batchnorm_statistics: joins the parts of every channel (Chan et al. 1979), moves the running mean and
// variance by `factor`, and keeps the batch mean and 1 / sqrt(variance + eps) in dmean and dvar.
#include "chan.glsl"
#if LANES > 1
shared vec3 lane_values[GROUP_SIZE];
#endif

void main() {
    int parts = LAUNCH_0, rows = LAUNCH_1;
    int each = GROUP_SIZE / LANES;
    int local = int(gl_LocalInvocationIndex);
    int c = GROUP * each + local % each, lane = local / each;
    vec3 state = vec3(0.0);
    if (c < COLS) {
        for (int part = lane; part < parts; part += LANES) {
            int at = part * COLS + c;
            float count = count_of(part, parts, AT_ONCE, rows);
            state = joined(state, vec3(count, scratch[at], scratch[parts * COLS + at]));
        }
    }
#if LANES > 1
    lane_values[local] = state;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] = joined(lane_values[local], lane_values[local + reach * each]);
        barrier();
    }
    state = lane_values[local];
#endif
    if (lane != 0 || c >= COLS) return;
    float variance = state.z / float(rows);
    store_dmean_at(c, state.y);
    store_dvar_at(c, 1.0 / sqrt(variance + eps));
    store_mean_at(c, (1.0 - factor) * mean_at(c) + factor * state.y);
    store_var_at(c, (1.0 - factor) * var_at(c) + factor * variance);
}
