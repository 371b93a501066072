// grads_reduce_first: of a maximum or minimum, dx is dy at the first element of the group, in row-major
// order, that equals y (the first NaN where y is NaN), and 0 elsewhere; LAUNCH_0 elements a group.
#include "reduced.glsl"
void main() {
    int g = THREAD, count = LAUNCH_0;
    if (g >= X_NUMEL / count) return;
    float best = y_at(g);
    bool found = false;
    int at[X_RANK];
    for (int r = 0; r < count; ++r) {
        place_of(g, r, at);
        float value = x_v(at);
        bool wins = !found && (is_nan(best) ? is_nan(value) : value == best);
        if (wins || DX_ADDS == 0) store_dx_v(at, wins ? dy_at(g) : 0.0);
        found = found || wins;
    }
}
