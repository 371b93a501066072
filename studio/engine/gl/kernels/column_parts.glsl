// column_parts: sums of source[row][c] over the LAUNCH_1 rows; one part stores y, of several each goes
// to scratch[part][c].
#include "long_sum.glsl"
#include "column_group.glsl"

void main() {
    int c = group_column(), part = group_part();
    bool mine = c < COLS && part < LAUNCH_0;
    LongSum sums[WIDTH];
    for (int k = 0; k < WIDTH; ++k) sums[k] = LongSum(0.0, 0.0);
    for (int row = first_row(); row < LAUNCH_1 && mine; row += row_step()) {
#if WIDTH == 4
        vec4 value = source_load4(source_cell_at(row * COLS + c));
        for (int k = 0; k < 4; ++k) sums[k] = plus(sums[k], value[k]);
#else
        sums[0] = plus(sums[0], source_at(row * COLS + c));
#endif
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
