// Least value of the work group; NaN wins. All invocations must call it, and all get the answer.

shared float group_least_part[GROUP_SIZE];

float group_least(float value) {
    uint lane = gl_LocalInvocationIndex;
    group_least_part[lane] = value;
    barrier();
    for (uint reach = uint(GROUP_SIZE) / 2u; reach > 0u; reach >>= 1) {
        if (lane < reach) {
            group_least_part[lane] = smaller(group_least_part[lane], group_least_part[lane + reach]);
        }
        barrier();
    }
    float least = group_least_part[0];
    barrier();
    return least;
}
