// grads_batchnorm_parts: sums of dy and of dy (x - mean) / deviation over rows part, part + LAUNCH_0, ...;
// into scratch[0][part][c] and scratch[1][part][c]. Undivided where no deviation is bound.
#include "deviation.glsl"
#include "long_sum.glsl"
void main() {
    int parts = LAUNCH_0, rows = X_NUMEL / COLS;
    if (THREAD >= parts * COLS) return;
    int c = THREAD % COLS;
    float center = center_at(c);
    LongSum plain = LongSum(0.0, 0.0), scaled = plain;
    for (int row = THREAD / COLS; row < rows; row += parts) {
        float g = dy_at(row * COLS + c);
        plain = plus(plain, g);
        scaled = plus(scaled, g * (x_at(row * COLS + c) - center));
    }
    scratch[THREAD] = whole(plain);
    scratch[parts * COLS + THREAD] = divided(whole(scaled), c);
}
