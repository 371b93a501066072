// How a kernel leaves sums of the columns of what it stored: TALLY_SPAN invocations of a work group, side
// by side, have four of the TALLY_COLS columns each; those behind them have other rows of the same ones.
// All invocations must call the functions; the order is fixed. TALLY(part, column) stands at a kernel's
// end: the work group's part, and the first of the invocation's columns.
#ifdef TALLIES
#pragma optionNV(unroll all)
#define TALLY(part, column) leave_tallies(part, column)
#define TALLY_LANES (GROUP_SIZE / TALLY_SPAN)
#define TALLY_FAN 8

shared vec4 tally_values[GROUP_SIZE];

// The sum over the invocations with the same columns; the foremost get it.
vec4 tally_total(vec4 value) {
    int local = int(gl_LocalInvocationIndex), lane = local / TALLY_SPAN;
    tally_values[local] = value;
    barrier();
    for (int left = TALLY_LANES; left > 1; left = max(left / TALLY_FAN, 1)) {
        int kept = max(left / TALLY_FAN, 1);
        if (lane < kept) {
            for (int k = kept; k < left; k += kept) {
                if (lane + k < left) value += tally_values[local + k * TALLY_SPAN];
            }
            tally_values[local] = value;
        }
        barrier();
    }
    return value;
}

// What the foremost has.
vec4 tally_top(vec4 value) {
    int local = int(gl_LocalInvocationIndex);
    if (local < TALLY_SPAN) tally_values[local] = value;
    barrier();
    value = tally_values[local % TALLY_SPAN];
    barrier();
    return value;
}

// Whether an invocation has the sums of columns there are.
bool tally_leaves(int column) {
    return int(gl_LocalInvocationIndex) < TALLY_SPAN && column < TALLY_COLS;
}
#else
#define TALLY(part, column)
#endif
