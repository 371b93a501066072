// grads_maxpool2d: dx[n,h,w,c] = sum of dy[n,i,j,c] over the windows whose first largest cell, in row
// order, is (h, w); the first NaN where there is one.

// Whether (h, w) is the first cell of window (i, j) that holds its maximum `best`.
bool first_of(int n, int i, int j, int c, int h, int w, float best) {
    int top = max(i * stride_h - pad_h, 0), left = max(j * stride_w - pad_w, 0);
    int right = min(j * stride_w - pad_w + window_w, X_D2);
    for (int p = top; p <= h; ++p) {
        for (int q = left; q < (p == h ? w : right); ++q) {
            float other = x(n, p, q, c);
            if (is_nan(best) ? is_nan(other) : other == best) return false;
        }
    }
    return true;
}

float kernel(int e) {
    int at[DX_RANK];
    dx_coords(e, at);
    int n = at[0], h = at[1], w = at[2], c = at[3];
    float own = x(n, h, w, c), sum = 0.0;
    int i1 = min((h + pad_h) / stride_h, Y_D1 - 1), j1 = min((w + pad_w) / stride_w, Y_D2 - 1);
    int i0 = max(h + pad_h - window_h + stride_h, 0) / stride_h;
    int j0 = max(w + pad_w - window_w + stride_w, 0) / stride_w;
    for (int i = i0; i <= i1; ++i) {
        for (int j = j0; j <= j1; ++j) {
            float best = y(n, i, j, c);
            bool wins = is_nan(best) ? is_nan(own) : own == best;
            if (wins && first_of(n, i, j, c, h, w, best)) sum += dy(n, i, j, c);
        }
    }
    return sum;
}
