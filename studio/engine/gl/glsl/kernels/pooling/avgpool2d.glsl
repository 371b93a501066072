// avgpool2d: y[n,i,j,c] = sum of x over the window / its cells; EXCLUDE leaves padding cells out.
float kernel(int e) {
    int at[Y_RANK];
    y_coords(e, at);
    int top = at[1] * stride_h - pad_h, left = at[2] * stride_w - pad_w;
    int bottom = min(top + window_h, X_D1), right = min(left + window_w, X_D2);
    top = max(top, 0);
    left = max(left, 0);
    float sum = 0.0;
    for (int h = top; h < bottom; ++h) {
        for (int w = left; w < right; ++w) sum += x(at[0], h, w, at[3]);
    }
    return sum / float(EXCLUDE == 1 ? (bottom - top) * (right - left) : window_h * window_w);
}
