// maxpool2d_four: maxpool2d for four neighbouring channels an invocation.
void main() {
    int e = THREAD * 4;
    if (e >= Y_NUMEL) return;
    int at[Y_RANK];
    y_coords(e, at);
    int top = at[1] * stride_h - pad_h, left = at[2] * stride_w - pad_w;
    vec4 best = vec4(-INFINITE);
    for (int p = 0; p < window_h; ++p) {
        for (int q = 0; q < window_w; ++q) {
            int h = top + p, w = left + q;
#if INNER
            vec4 value = x4(at[0], h, w, at[3]);
#else
            bool there = h >= 0 && h < X_D1 && w >= 0 && w < X_D2;
            if (!there) continue;
            vec4 value = x4(at[0], h, w, at[3]);
#endif
            for (int k = 0; k < 4; ++k) best[k] = larger(best[k], value[k]);
        }
    }
    store_y4(at[0], at[1], at[2], at[3], best);
}
