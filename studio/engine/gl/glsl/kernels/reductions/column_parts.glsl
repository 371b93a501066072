// column_parts: sums of source[row][c] over the LAUNCH_1 rows; one part stores y, of several each goes
// to scratch[part][c].
#pragma optionNV(unroll all)
#include "long_sum.glsl"
#include "column_group.glsl"

void main() {
    int c = group_column(), part = group_part();
    bool mine = c < COLS && part < LAUNCH_0;
    LongSum sums[WIDTH];
    for (int k = 0; k < WIDTH; ++k) sums[k] = LongSum(0.0, 0.0);
    for (int row = first_row(); row < LAUNCH_1 && mine; row += AHEAD * row_step()) {
        vec4 value[AHEAD];
        for (int a = 0; a < AHEAD; ++a) {
            int e = min(row + a * row_step(), LAUNCH_1 - 1) * COLS + c;
#if WIDTH == 4
            value[a] = source_load4(source_cell_at(e));
#else
            value[a] = vec4(source_at(e), 0.0, 0.0, 0.0);
#endif
        }
        for (int a = 0; a < AHEAD; ++a) {
            if (row + a * row_step() >= LAUNCH_1) break;
            for (int k = 0; k < WIDTH; ++k) sums[k] = plus(sums[k], value[a][k]);
        }
    }
    vec4 total = vec4(0.0);
    for (int k = 0; k < WIDTH; ++k) total[k] = whole(sums[k]);
    total = column_total(total);
    if (group_lane() > 0 || !mine) return;
    for (int k = 0; k < WIDTH; ++k) {
#if PARTIAL
        scratch[part * COLS + c + k] = total[k];
#else
        store_y_at(c + k, total[k]);
#endif
    }
}
