// grads_batchnorm_dx: dx = scale (dy - mean of dy - xhat mean of dy xhat), xhat = (x - mean) / deviation,
// scale = gamma / deviation; with frozen statistics dx = scale dy. The sums lie behind LAUNCH_0 parts.
#include "statistics.glsl"

void main() {
    int e = THREAD * WIDTH;
    if (e >= DX_NUMEL) return;
    int c = e % COLS, at = 2 * LAUNCH_0 * COLS + c;
    float rows = float(DX_NUMEL / COLS);
#if WIDTH == 4
    vec4 g = dy_load4(dy_cell_at(e));
#if !FROZEN
    vec4 xhat = (x_load4(x_cell_at(e)) - center_load4(center_cell_at(c))) * inverse4_deviation(c);
    vec4 mean = vec4(scratch[at], scratch[at + 1], scratch[at + 2], scratch[at + 3]);
    at += COLS;
    vec4 turn = vec4(scratch[at], scratch[at + 1], scratch[at + 2], scratch[at + 3]);
    g -= (mean + xhat * turn) / rows;
#endif
    store_dx4_at(e, g * scale4_of(c));
#else
    float g = dy_at(e);
#if !FROZEN
    float xhat = (x_at(e) - center_at(c)) * inverse_deviation(c);
    g -= (scratch[at] + xhat * scratch[at + COLS]) / rows;
#endif
    store_dx_at(e, g * scale_of(c));
#endif
}
