// grads_maxpool2d_windows: grads_maxpool2d where windows lie side by side: each invocation has the
// cells of one window for four neighbouring channels, finds the first largest of x (the first NaN
// where there is one), and stores dy there and 0 elsewhere. Cells behind the last window get 0.
#define CELLS_H ((X_D1 + window_h - 1) / window_h)
#define CELLS_W ((X_D2 + window_w - 1) / window_w)

void main() {
    int e = THREAD;
    if (e >= X_D0 * CELLS_H * CELLS_W * (X_D3 / 4)) return;
    int c = e % (X_D3 / 4) * 4;
    e /= X_D3 / 4;
    int j = e % CELLS_W;
    e /= CELLS_W;
    int i = e % CELLS_H, n = e / CELLS_H;
    int top = i * window_h, left = j * window_w;
    vec4 best = vec4(-INFINITE), g = vec4(0.0);
    ivec4 winner = ivec4(-1);
    if (i < DY_D1 && j < DY_D2) {
        g = dy4(n, i, j, c);
        for (int p = 0; p < window_h; ++p) {
            for (int q = 0; q < window_w; ++q) {
                if (top + p >= X_D1 || left + q >= X_D2) continue;
                vec4 value = x4(n, top + p, left + q, c);
                for (int k = 0; k < 4; ++k) {
                    bool wins = winner[k] < 0 || value[k] > best[k] || is_nan(value[k]) && !is_nan(best[k]);
                    winner[k] = wins ? p * window_w + q : winner[k];
                    best[k] = wins ? value[k] : best[k];
                }
            }
        }
    }
    for (int p = 0; p < window_h; ++p) {
        for (int q = 0; q < window_w; ++q) {
            if (top + p >= X_D1 || left + q >= X_D2) continue;
            vec4 slope = vec4(0.0);
            for (int k = 0; k < 4; ++k) slope[k] = winner[k] == p * window_w + q ? g[k] : 0.0;
            store_dx4(n, top + p, left + q, c, slope);
        }
    }
}
