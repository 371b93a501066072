// How a kernel leaves sums of the columns of what it stored: SUMS_SPAN invocations of a work group, side
// by side, have four of the SUMS_COLS columns each; those behind them have other rows of the same ones.
// All invocations must call the functions; the order is fixed. LEAVE_SUMS(part, column) stands at a kernel's
// end: the work group's part, and the first of the invocation's columns.
#ifdef PARTIAL_SUMS
#pragma optionNV(unroll all)
#define LEAVE_SUMS(part, column) leave_sums(part, column)
#define SUMS_LANES (GROUP_SIZE / SUMS_SPAN)
#define SUMS_HALF (SUMS_LANES / 2)
// Sums an invocation adds up between two barriers at most.
#define SUMS_FAN 8

shared vec4 tops_of_sums[SUMS_SPAN];
// Of the back half of the invocations, one behind the other, then of the sums of both halves.
shared vec4 values_of_sums[2 * SUMS_HALF * SUMS_SPAN];

// What the foremost invocation with the same columns has.
vec4 sums_top(vec4 value) {
    int local = int(gl_LocalInvocationIndex);
    if (local < SUMS_SPAN) tops_of_sums[local] = value;
    barrier();
    return tops_of_sums[local % SUMS_SPAN];
}

// The sums over the invocations with the same columns; the foremost get them. `again` where it is not
// the kernel's first call.
void sums_totals(inout vec4 first, inout vec4 second, bool again) {
#if SUMS_HALF > 0
    int local = int(gl_LocalInvocationIndex), lane = local / SUMS_SPAN, half_size = SUMS_HALF * SUMS_SPAN;
    if (again) barrier();
    if (lane >= SUMS_HALF) {
        values_of_sums[local - half_size] = first;
        values_of_sums[local] = second;
    }
    barrier();
    if (lane < SUMS_HALF) {
        first += values_of_sums[local];
        second += values_of_sums[local + half_size];
        values_of_sums[local] = first;
        values_of_sums[local + half_size] = second;
    }
    for (int left = SUMS_HALF; left > 1; left = max(left / SUMS_FAN, 1)) {
        int kept = max(left / SUMS_FAN, 1);
        barrier();
        if (lane < kept) {
            for (int k = kept; k < left; k += kept) {
                first += values_of_sums[local + k * SUMS_SPAN];
                second += values_of_sums[local + k * SUMS_SPAN + half_size];
            }
            values_of_sums[local] = first;
            values_of_sums[local + half_size] = second;
        }
    }
#endif
}

// Whether an invocation has the sums of columns there are.
bool has_sums(int column) {
    return int(gl_LocalInvocationIndex) < SUMS_SPAN && column < SUMS_COLS;
}
#else
#define LEAVE_SUMS(part, column)
#endif
