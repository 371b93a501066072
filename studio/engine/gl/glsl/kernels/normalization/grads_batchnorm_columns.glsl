// grads_batchnorm_columns: what grads_batchnorm_parts does, a work group a part: sums of dy and of
// dy (x - mean) / deviation (undivided where no deviation is bound), into scratch[0][part][c] and
// scratch[1][part][c].
#pragma optionNV(unroll all)
#include "deviation.glsl"
#include "column_group.glsl"

void main() {
    int c = group_column(), part = group_part(), rows = X_NUMEL / COLS;
    bool mine = c < COLS && part < LAUNCH_0;
    vec4 center = vec4(0.0), plain = vec4(0.0), scaled = vec4(0.0);
    for (int k = 0; k < WIDTH && mine; ++k) center[k] = center_at(c + k);
    for (int row = first_row(); row < rows && mine; row += AHEAD * row_step()) {
        vec4 g[AHEAD], d[AHEAD];
        for (int k = 0; k < AHEAD; ++k) {
            int e = min(row + k * row_step(), rows - 1) * COLS + c;
#if WIDTH == 4
            g[k] = dy_load4(dy_cell_at(e));
            d[k] = x_load4(x_cell_at(e)) - center;
#else
            g[k] = vec4(dy_at(e), 0.0, 0.0, 0.0);
            d[k] = vec4(x_at(e) - center.x, 0.0, 0.0, 0.0);
#endif
        }
        for (int k = 0; k < AHEAD; ++k) {
            if (row + k * row_step() >= rows) break;
            plain += g[k];
            scaled += g[k] * d[k];
        }
    }
    plain = column_total(plain);
    scaled = column_total(scaled);
    if (group_lane() > 0 || !mine) return;
    for (int k = 0; k < WIDTH; ++k) {
        scratch[part * COLS + c + k] = plain[k];
        scratch[(LAUNCH_0 + part) * COLS + c + k] = divided(scaled[k], c + k);
    }
}
