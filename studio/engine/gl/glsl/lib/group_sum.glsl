// Sum over the work group in a fixed order (a binary tree over the invocation index), so that the
// same input gives the same bits on every run. GROUP_SIZE is a power of two up to 256. All
// invocations must call it, and all get the sum.

shared float group_sum_part[GROUP_SIZE];

float group_sum(float value) {
    uint lane = gl_LocalInvocationIndex;
    group_sum_part[lane] = value;
    barrier();
    for (uint reach = uint(GROUP_SIZE) / 2u; reach > 0u; reach >>= 1) {
        if (lane < reach) group_sum_part[lane] += group_sum_part[lane + reach];
        barrier();
    }
    float total = group_sum_part[0];
    barrier();
    return total;
}
