// gradient of a running product: dx[p] = y[p - 1] s[p] with s[p] = dy[p] + x[p + 1] s[p + 1], so without
// quotients; where y leaves its own element out, y[p] s[p] with s[p] = dy[p + 1] + x[p + 1] s[p + 1].
void main() {
    int line = THREAD;
    if (line >= DX_NUMEL / LENGTH) return;
    int first = line / INNER * LENGTH * INNER + line % INNER, next = 0;
    float sum = 0.0;
    for (int j = LENGTH - 1; j >= 0; --j) {
        int n = first + (REVERSE == 1 ? LENGTH - 1 - j : j) * INNER;
        bool last = j == LENGTH - 1;
#if EXCLUSIVE
        if (!last) sum = dy_at(next) + x_at(next) * sum;
        float before = y_at(n);
#else
        sum = last ? dy_at(n) : dy_at(n) + x_at(next) * sum;
        float before = j == 0 ? 1.0 : y_at(n + (REVERSE == 1 ? INNER : -INNER));
#endif
        store_dx_at(n, before * sum);
        next = n;
    }
}
