// Several invocations share one result: LANES (a power of two) work on it side by side, and
// GROUP_SIZE / LANES results share a work group. With one lane there are no barriers. All
// invocations of a group must call these functions, and all lanes get what they give; the order is
// fixed.

int lane_number() { return int(gl_LocalInvocationIndex) % LANES; }

// Which result this invocation works on; may lie past the last one.
int lane_result() { return GROUP * (GROUP_SIZE / LANES) + int(gl_LocalInvocationIndex) / LANES; }

#if LANES > 1
shared float lane_values[GROUP_SIZE];
#endif

float summed(float value) {
#if LANES > 1
    int local = int(gl_LocalInvocationIndex), lane = lane_number();
    lane_values[local] = value;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] += lane_values[local + reach];
        barrier();
    }
    value = lane_values[local - lane];
    barrier();
#endif
    return value;
}

float largest(float value) {
#if LANES > 1
    int local = int(gl_LocalInvocationIndex), lane = lane_number();
    lane_values[local] = value;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) {
            lane_values[local] = larger(lane_values[local], lane_values[local + reach]);
        }
        barrier();
    }
    value = lane_values[local - lane];
    barrier();
#endif
    return value;
}
