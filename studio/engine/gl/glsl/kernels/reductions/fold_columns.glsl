// fold_columns: y[c] = FINISH(scratch[part][c] joined over LAUNCH_0 parts), LANES invocations a column,
// in a fixed order; LAUNCH_1 is the number of elements of a column.
#include "joining.glsl"
#if LANES > 1
shared float lane_values[GROUP_SIZE];
#endif
void main() {
    int cols = COLS;
    int each = GROUP_SIZE / LANES;
    int local = int(gl_LocalInvocationIndex);
    int c = GROUP * each + local % each, lane = local / each;
    JOINED state = NOTHING;
    if (c < cols) {
        for (int part = lane; part < LAUNCH_0; part += LANES) {
            state = joined_with(state, scratch[part * cols + c]);
        }
    }
    float value = joined_value(state);
#if LANES > 1
    lane_values[local] = value;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] = JOIN(lane_values[local], lane_values[local + reach * each]);
        barrier();
    }
    value = lane_values[local];
#endif
    if (lane == 0 && c < cols) store_y_at(c, Y_T(FINISH(value)));
}
