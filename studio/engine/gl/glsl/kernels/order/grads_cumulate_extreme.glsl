// gradient of a running maximum or minimum: an element that is BETTER than all before, or the first
// NaN, gets the sum of dy up to the next such one; all others get 0.
#include "long_sum.glsl"
void main() {
    int line = THREAD;
    if (line >= DX_NUMEL / LENGTH) return;
    int first = line / INNER * LENGTH * INNER + line % INNER, next = 0;
    LongSum sum = LongSum(0.0, 0.0);
    for (int j = LENGTH - 1; j >= 0; --j) {
        int n = first + (REVERSE == 1 ? LENGTH - 1 - j : j) * INNER;
#if EXCLUSIVE
        if (j < LENGTH - 1) sum = plus(sum, dy_at(next));
        float before = y_at(n);
#else
        sum = plus(sum, dy_at(n));
        float before = j == 0 ? 0.0 : y_at(n + (REVERSE == 1 ? INNER : -INNER));
#endif
        float value = x_at(n);
        bool found = j == 0 || (!is_nan(before) && (is_nan(value) || BETTER(value, before)));
        store_dx_at(n, found ? whole(sum) : 0.0);
        if (found) sum = LongSum(0.0, 0.0);
        next = n;
    }
}
