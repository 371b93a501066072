// batchnorm: y = gamma (x - mean) / sqrt(var + eps) + beta, WIDTH neighbouring channels an invocation.
#include "statistics.glsl"

void main() {
    int e = THREAD * WIDTH;
    if (e >= X_NUMEL) return;
    int c = e % COLS;
#if WIDTH == 4
    vec4 value = (x_load4(x_cell_at(e)) - center_load4(center_cell_at(c))) * scale4_of(c);
#if HAS_BETA
    value += beta_load4(beta_cell_at(c));
#endif
    store_y4_at(e, value);
#else
    float value = (x_at(e) - center_at(c)) * scale_of(c);
#if HAS_BETA
    value += beta_at(c);
#endif
    store_y_at(e, value);
#endif
}
