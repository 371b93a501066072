// maxpool2d: y[n,i,j,c] = max of x over the window at (i sh - ph, j sw - pw); NaN wins, padding never.
float kernel(int e) {
    int at[Y_RANK];
    y_coords(e, at);
    int top = at[1] * stride_h - pad_h, left = at[2] * stride_w - pad_w;
    float best = -INFINITE;
    for (int h = max(top, 0); h < min(top + window_h, X_D1); ++h) {
        for (int w = max(left, 0); w < min(left + window_w, X_D2); ++w) {
            best = larger(best, x(at[0], h, w, at[3]));
        }
    }
    return best;
}
