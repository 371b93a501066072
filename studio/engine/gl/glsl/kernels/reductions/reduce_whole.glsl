// reduce_whole: y[g] = JOIN of the whole numbers of group g, LAUNCH_1 of them; LANES invocations of a
// work group share a result.
#include "reduced.glsl"
#if LANES > 1
shared int lane_values[GROUP_SIZE];
#endif
void main() {
    int local = int(gl_LocalInvocationIndex);
    int g = GROUP * (GROUP_SIZE / LANES) + local / LANES, lane = local % LANES;
    int value = START;
    if (g < Y_NUMEL) {
        for (int r = lane; r < LAUNCH_1; r += LANES) {
            int at[X_RANK];
            place_of(g, r, at);
            value = JOIN(value, x_v(at));
        }
    }
#if LANES > 1
    lane_values[local] = value;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] = JOIN(lane_values[local], lane_values[local + reach]);
        barrier();
    }
    value = lane_values[local];
#endif
    if (lane == 0 && g < Y_NUMEL) store_y_at(g, value);
}
