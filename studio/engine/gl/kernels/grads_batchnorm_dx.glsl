// grads_batchnorm_dx: dx = scale (dy - mean of dy - xhat mean of dy xhat), xhat = (x - mean) / deviation,
// scale = gamma / deviation; with frozen statistics dx = scale dy. The sums lie behind LAUNCH_0 parts.
#include "statistics.glsl"

float slope(float g, float value, int c, float rows) {
#if !FROZEN
    int at = 2 * LAUNCH_0 * COLS + c;
    float xhat = (value - center_at(c)) * inverse_deviation(c);
    g -= (scratch[at] + xhat * scratch[at + COLS]) / rows;
#endif
    return g * scale_of(c);
}

void main() {
    int e = THREAD * WIDTH;
    if (e >= DX_NUMEL) return;
    int c = e % COLS;
    float rows = float(DX_NUMEL / COLS);
#if WIDTH == 4
    vec4 g = dy_load4(dy_cell_at(e)), value = x_load4(x_cell_at(e));
    for (int k = 0; k < 4; ++k) g[k] = slope(g[k], value[k], c + k, rows);
    store_dx4_at(e, g);
#else
    store_dx_at(e, slope(dy_at(e), x_at(e), c, rows));
#endif
}
