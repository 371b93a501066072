// batchnorm_parts: mean and sum of squared deviations of x[row][c] over rows part, part + LAUNCH_0, ...;
// into scratch[0][part][c] and scratch[1][part][c]. Sums are of differences from the part's first row,
// so that a large mean costs no accuracy.
#include "long_sum.glsl"
void main() {
    int parts = LAUNCH_0, rows = X_NUMEL / COLS;
    if (THREAD >= parts * COLS) return;
    int c = THREAD % COLS, part = THREAD / COLS;
    float origin = x_at(part * COLS + c), count = 0.0;
    LongSum sums = LongSum(0.0, 0.0), squares = sums;
    for (int row = part; row < rows; row += parts) {
        float d = x_at(row * COLS + c) - origin;
        sums = plus(sums, d);
        squares = plus(squares, d * d);
        count += 1.0;
    }
    float sum = whole(sums);
    scratch[THREAD] = origin + sum / count;
    scratch[parts * COLS + THREAD] = larger(whole(squares) - sum * (sum / count), 0.0);
}
