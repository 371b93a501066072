// batchnorm_columns: what batchnorm_parts does, a work group a part: mean and sum of squared deviations
// of every column over the part's rows, into scratch[0][part][c] and scratch[1][part][c]. Sums are of
// differences from the part's first row, so that a large mean costs no accuracy.
#pragma optionNV(unroll all)
#include "column_group.glsl"

void main() {
    int c = group_column(), part = group_part(), rows = X_NUMEL / COLS;
    bool mine = c < COLS && part < LAUNCH_0;
    vec4 origin = vec4(0.0), sum = vec4(0.0), squares = vec4(0.0);
#if WIDTH == 4
    if (mine) origin = x_load4(x_cell_at(part * ROWS_AT_ONCE * COLS + c));
#else
    if (mine) origin.x = x_at(part * ROWS_AT_ONCE * COLS + c);
#endif
    for (int row = first_row(); row < rows && mine; row += AHEAD * row_step()) {
        vec4 d[AHEAD];
        for (int k = 0; k < AHEAD; ++k) {
            int e = min(row + k * row_step(), rows - 1) * COLS + c;
#if WIDTH == 4
            d[k] = x_load4(x_cell_at(e)) - origin;
#else
            d[k] = vec4(x_at(e) - origin.x, 0.0, 0.0, 0.0);
#endif
        }
        for (int k = 0; k < AHEAD; ++k) {
            if (row + k * row_step() >= rows) break;
            sum += d[k];
            squares += d[k] * d[k];
        }
    }
    sum = column_total(sum);
    squares = column_total(squares);
    if (group_lane() > 0 || !mine) return;
    float count = float(rows_of_part(part, rows));
    for (int k = 0; k < WIDTH; ++k) {
        scratch[part * COLS + c + k] = origin[k] + sum[k] / count;
        scratch[(LAUNCH_0 + part) * COLS + c + k] = larger(squares[k] - sum[k] * (sum[k] / count), 0.0);
    }
}
