// loss_mean: y = the sum of all LAUNCH_0 elements of x over their number, by one work group, in a fixed order.
#include "group_sum.glsl"
void main() {
    float sum = 0.0;
    for (int k = int(gl_LocalInvocationIndex); k < LAUNCH_0; k += GROUP_SIZE) sum += x_at(k);
    sum = group_sum(sum);
    if (gl_LocalInvocationIndex == 0u) store_y(sum / float(LAUNCH_0));
}
