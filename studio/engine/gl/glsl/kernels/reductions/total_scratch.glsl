// total_scratch: y = FINISH(sum of scratch[0 .. LAUNCH_0 - 1]) by one work group, in a fixed order.
#include "group_sum.glsl"
void main() {
    float sum = 0.0;
    for (int k = int(gl_LocalInvocationIndex); k < LAUNCH_0; k += GROUP_SIZE) sum += scratch[k];
    sum = group_sum(sum);
    if (gl_LocalInvocationIndex == 0u) store_y(FINISH(sum));
}
