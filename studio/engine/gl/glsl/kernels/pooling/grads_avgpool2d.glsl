// grads_avgpool2d: dx[n,h,w,c] = sum over the windows that hold (h, w) of dy[n,i,j,c] / their cells.
float kernel(int e) {
    int at[DX_RANK];
    dx_coords(e, at);
    int h = at[1], w = at[2];
    int i1 = min((h + pad_h) / stride_h, DY_D1 - 1), j1 = min((w + pad_w) / stride_w, DY_D2 - 1);
    int i0 = max(h + pad_h - window_h + stride_h, 0) / stride_h;
    int j0 = max(w + pad_w - window_w + stride_w, 0) / stride_w;
    float sum = 0.0;
    for (int i = i0; i <= i1; ++i) {
        int top = i * stride_h - pad_h;
        int high = EXCLUDE == 1 ? min(top + window_h, DX_D1) - max(top, 0) : window_h;
        for (int j = j0; j <= j1; ++j) {
            int left = j * stride_w - pad_w;
            int wide = EXCLUDE == 1 ? min(left + window_w, DX_D2) - max(left, 0) : window_w;
            sum += dy(at[0], i, j, at[3]) / float(high * wide);
        }
    }
    return sum;
}
