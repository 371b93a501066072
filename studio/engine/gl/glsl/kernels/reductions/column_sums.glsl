// column_sums: scratch[part][c] = sum of source[row][c] over rows part, part + parts, ...
#include "long_sum.glsl"
void main() {
    int parts = LAUNCH_0, rows = LAUNCH_1;
    if (THREAD >= parts * COLS) return;
    int c = THREAD % COLS;
    LongSum sum = LongSum(0.0, 0.0);
    for (int row = THREAD / COLS; row < rows; row += parts) {
        sum = plus(sum, source_at(row * COLS + c));
    }
    scratch[THREAD] = whole(sum);
}
