// share_of_sums: y = the sum of scratch[0 .. LAUNCH_0 - 1] over that of as many behind it, or 0 where that is 0, by one
// work group, in a fixed order.
#include "group_sum.glsl"
void main() {
    float part = 0.0, whole = 0.0;
    for (int k = int(gl_LocalInvocationIndex); k < LAUNCH_0; k += GROUP_SIZE) {
        part += scratch[k];
        whole += scratch[LAUNCH_0 + k];
    }
    part = group_sum(part);
    whole = group_sum(whole);
    if (gl_LocalInvocationIndex == 0u) store_y(whole == 0.0 ? 0.0 : part / whole);
}
