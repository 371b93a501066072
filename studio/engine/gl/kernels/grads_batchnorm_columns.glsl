// grads_batchnorm_columns: what grads_batchnorm_parts does, a work group a part: sums of dy and of
// dy (x - mean) / deviation, into scratch[0][part][c] and scratch[1][part][c].
#include "statistics.glsl"
#include "column_group.glsl"

void main() {
    int c = group_column(), part = group_part(), rows = X_NUMEL / COLS;
    bool mine = c < COLS && part < LAUNCH_0;
    vec4 center = vec4(0.0), plain = vec4(0.0), scaled = vec4(0.0);
    for (int k = 0; k < WIDTH && mine; ++k) center[k] = center_at(c + k);
    for (int row = first_row(); row < rows && mine; row += row_step()) {
        int e = row * COLS + c;
#if WIDTH == 4
        vec4 g = dy_load4(dy_cell_at(e)), d = x_load4(x_cell_at(e)) - center;
#else
        vec4 g = vec4(dy_at(e), 0.0, 0.0, 0.0), d = vec4(x_at(e) - center.x, 0.0, 0.0, 0.0);
#endif
        plain += g;
        scaled += g * d;
    }
    plain = column_total(plain);
    scaled = column_total(scaled);
    if (group_lane() > 0 || !mine) return;
    for (int k = 0; k < WIDTH; ++k) {
        scratch[part * COLS + c + k] = plain[k];
        scratch[(LAUNCH_0 + part) * COLS + c + k] = scaled[k] * inverse_deviation(c + k);
    }
}
