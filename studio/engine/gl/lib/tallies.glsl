// How a kernel leaves sums of the columns of what it stored: TALLY_SPAN invocations of a work group, side
// by side, have four of the TALLY_COLS columns each; those behind them have other rows of the same ones.
// All invocations must call the functions; the order is fixed. TALLY(part, column) stands at a kernel's
// end: the work group's part, and the first of the invocation's columns.
#ifdef TALLIES
#pragma optionNV(unroll all)
#define TALLY(part, column) leave_tallies(part, column)
#define TALLY_LANES (GROUP_SIZE / TALLY_SPAN)
#define TALLY_HALF (TALLY_LANES / 2)
// Sums an invocation adds up between two barriers at most.
#define TALLY_FAN 8

shared vec4 tally_tops[TALLY_SPAN];
// Of the back half of the invocations, one behind the other, then of the sums of both halves.
shared vec4 tally_values[2 * TALLY_HALF * TALLY_SPAN];

// What the foremost invocation with the same columns has.
vec4 tally_top(vec4 value) {
    int local = int(gl_LocalInvocationIndex);
    if (local < TALLY_SPAN) tally_tops[local] = value;
    barrier();
    return tally_tops[local % TALLY_SPAN];
}

// The sums over the invocations with the same columns; the foremost get them. `again` where it is not
// the kernel's first call.
void tally_totals(inout vec4 first, inout vec4 second, bool again) {
#if TALLY_HALF > 0
    int local = int(gl_LocalInvocationIndex), lane = local / TALLY_SPAN, half_size = TALLY_HALF * TALLY_SPAN;
    if (again) barrier();
    if (lane >= TALLY_HALF) {
        tally_values[local - half_size] = first;
        tally_values[local] = second;
    }
    barrier();
    if (lane < TALLY_HALF) {
        first += tally_values[local];
        second += tally_values[local + half_size];
        tally_values[local] = first;
        tally_values[local + half_size] = second;
    }
    for (int left = TALLY_HALF; left > 1; left = max(left / TALLY_FAN, 1)) {
        int kept = max(left / TALLY_FAN, 1);
        barrier();
        if (lane < kept) {
            for (int k = kept; k < left; k += kept) {
                first += tally_values[local + k * TALLY_SPAN];
                second += tally_values[local + k * TALLY_SPAN + half_size];
            }
            tally_values[local] = first;
            tally_values[local + half_size] = second;
        }
    }
#endif
}

// Whether an invocation has the sums of columns there are.
bool tally_leaves(int column) {
    return int(gl_LocalInvocationIndex) < TALLY_SPAN && column < TALLY_COLS;
}
#else
#define TALLY(part, column)
#endif
