// column_parts: sums of source[row][c] over rows, WIDTH neighbouring columns an invocation; SPAN
// invocations of a work group stand side by side and the others below them take rows in turn, then
// their sums are joined in shared memory in a fixed order. Groups go over blocks of columns, then
// parts: LAUNCH_0 parts of the LAUNCH_1 rows; one part stores y, of several each goes to
// scratch[part][c].
#include "long_sum.glsl"
#define ROWS_AT_ONCE (GROUP_SIZE / SPAN)
#define BLOCKS ((COLS + SPAN * WIDTH - 1) / (SPAN * WIDTH))

shared float joined[GROUP_SIZE * WIDTH];

void main() {
    int local = int(gl_LocalInvocationIndex), lane = local / SPAN;
    int c = (GROUP % BLOCKS * SPAN + local % SPAN) * WIDTH, part = GROUP / BLOCKS;
    LongSum sums[WIDTH];
    for (int k = 0; k < WIDTH; ++k) sums[k] = LongSum(0.0, 0.0);
    if (c < COLS && part < LAUNCH_0) {
        for (int row = part * ROWS_AT_ONCE + lane; row < LAUNCH_1; row += LAUNCH_0 * ROWS_AT_ONCE) {
#if WIDTH == 4
            vec4 value = source_load4(source_cell_at(row * COLS + c));
            for (int k = 0; k < 4; ++k) sums[k] = plus(sums[k], value[k]);
#else
            sums[0] = plus(sums[0], source_at(row * COLS + c));
#endif
        }
    }
    for (int k = 0; k < WIDTH; ++k) joined[k * GROUP_SIZE + local] = whole(sums[k]);
    barrier();
    for (int reach = ROWS_AT_ONCE / 2; reach > 0; reach /= 2) {
        if (lane < reach) {
            for (int k = 0; k < WIDTH; ++k) {
                joined[k * GROUP_SIZE + local] += joined[k * GROUP_SIZE + local + reach * SPAN];
            }
        }
        barrier();
    }
    if (lane > 0 || c >= COLS || part >= LAUNCH_0) return;
    for (int k = 0; k < WIDTH; ++k) {
        float sum = joined[k * GROUP_SIZE + local];
#if PARTIAL
        scratch[part * COLS + c + k] = sum;
#else
        store_y_at(c + k, sum);
#endif
    }
}
