// grads_reduce_prod: dx = dy times the product of the other elements of the group, LAUNCH_0 of them, as the
// product of those before times that of those behind, so that zeros do no harm. LANES invocations have a
// stretch of the group each; scratch keeps the products before every element.
#include "reduced.glsl"
#if LANES > 1
shared float lane_products[GROUP_SIZE];
#endif
void main() {
    int local = int(gl_LocalInvocationIndex);
    int g = GROUP * (GROUP_SIZE / LANES) + local / LANES, lane = local % LANES;
    int count = LAUNCH_0, groups = X_NUMEL / count;
    int stretch = (count + LANES - 1) / LANES;
    int first = g < groups ? min(lane * stretch, count) : 0;
    int last = g < groups ? min(first + stretch, count) : 0;
    int at[X_RANK];
    float before = 1.0, behind = 1.0;
#if LANES > 1
    float mine = 1.0;
    for (int r = first; r < last; ++r) {
        place_of(g, r, at);
        mine *= x_v(at);
    }
    lane_products[local] = mine;
    barrier();
    for (int other = 0; other < LANES; ++other) {
        float value = lane_products[local - lane + other];
        if (other < lane) before *= value;
        if (other > lane) behind *= value;
    }
#endif
    for (int r = first; r < last; ++r) {
        place_of(g, r, at);
        scratch[r * groups + g] = before;
        before *= x_v(at);
    }
    for (int r = last - 1; r >= first; --r) {
        place_of(g, r, at);
        store_dx_v(at, dy_at(g) * (scratch[r * groups + g] * behind));
        behind *= x_v(at);
    }
}
