// reduce: y[g] = FINISH(x joined over the elements of group g); LAUNCH_1 elements a group, cut into
// LAUNCH_0 parts; of several parts each is joined into scratch[part][g].
#include "reduced.glsl"
#include "joining.glsl"
void main() {
    int parts = LAUNCH_0, count = LAUNCH_1, groups = X_NUMEL / count;
    if (THREAD >= parts * groups) return;
    int g = LAST_REDUCED == 1 ? THREAD / parts : THREAD % groups;
    int part = LAST_REDUCED == 1 ? THREAD % parts : THREAD / groups;
    JOINED state = NOTHING;
    for (int r = part; r < count; r += parts) {
        int at[X_RANK];
        place_of(g, r, at);
        state = joined_with(state, float(x_v(at)));
    }
    float value = joined_value(state);
#if PARTIAL
    scratch[part * groups + g] = value;
#else
    store_y_at(g, Y_T(FINISH(value)));
#endif
}
