// A work group over a block of columns of a matrix: WIDTH neighbouring columns an invocation, SPAN
// invocations side by side, the others below them take rows in turn. LAUNCH_0 groups share the rows of
// a block; groups go over blocks first. GROUP_SIZE / SPAN is a power of two.
// Rows an invocation reads before it adds the first, so that their latencies overlap.
#define AHEAD 4
#define ROWS_AT_ONCE (GROUP_SIZE / SPAN)
#define BLOCKS ((COLS + SPAN * WIDTH - 1) / (SPAN * WIDTH))

int group_part() { return GROUP / BLOCKS; }
int group_column() { return (GROUP % BLOCKS * SPAN + int(gl_LocalInvocationIndex) % SPAN) * WIDTH; }
int group_lane() { return int(gl_LocalInvocationIndex) / SPAN; }
int first_row() { return group_part() * ROWS_AT_ONCE + group_lane(); }
int row_step() { return LAUNCH_0 * ROWS_AT_ONCE; }

// How many of so many rows a part has.
int rows_of_part(int part, int rows) {
    int round_rows = row_step();
    return rows / round_rows * ROWS_AT_ONCE + clamp(rows % round_rows - part * ROWS_AT_ONCE, 0, ROWS_AT_ONCE);
}

shared vec4 column_values[GROUP_SIZE];

// The sum over the invocations below each other, in a fixed order; all invocations must call it, the
// topmost get it.
vec4 column_total(vec4 value) {
    int local = int(gl_LocalInvocationIndex), lane = group_lane();
    column_values[local] = value;
    barrier();
    for (int reach = ROWS_AT_ONCE / 2; reach > 0; reach /= 2) {
        if (lane < reach) column_values[local] += column_values[local + reach * SPAN];
        barrier();
    }
    value = column_values[local];
    barrier();
    return value;
}
