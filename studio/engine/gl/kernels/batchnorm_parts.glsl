// batchnorm_parts: mean and sum of squared deviations of x[row][c] over rows part, part + LAUNCH_0, ...;
// into scratch[0][part][c] and scratch[1][part][c]. Sums are of differences from the part's first row,
// so that a large mean costs no accuracy.
void main() {
    int parts = LAUNCH_0, rows = X_NUMEL / COLS;
    if (THREAD >= parts * COLS) return;
    int c = THREAD % COLS, part = THREAD / COLS;
    float origin = x_at(part * COLS + c), sum = 0.0, squares = 0.0, count = 0.0;
    for (int row = part; row < rows; row += parts) {
        float d = x_at(row * COLS + c) - origin;
        sum += d;
        squares += d * d;
        count += 1.0;
    }
    scratch[THREAD] = origin + sum / count;
    scratch[parts * COLS + THREAD] = larger(squares - sum * (sum / count), 0.0);
}
