// batchnorm: y = gamma (x - mean) / sqrt(var + eps) + beta, WIDTH neighbouring channels an invocation.
#include "statistics.glsl"

float normalised(float value, int c) {
    float result = (value - center_at(c)) * scale_of(c);
#if HAS_BETA
    result += beta_at(c);
#endif
    return result;
}

void main() {
    int e = THREAD * WIDTH;
    if (e >= X_NUMEL) return;
    int c = e % COLS;
#if WIDTH == 4
    vec4 value = x_load4(x_cell_at(e));
    for (int k = 0; k < 4; ++k) value[k] = normalised(value[k], c + k);
    store_y4_at(e, value);
#else
    store_y_at(e, normalised(x_at(e), c));
#endif
}
