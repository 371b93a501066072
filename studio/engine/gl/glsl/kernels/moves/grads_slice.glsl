// gradient of slice: dx[at] = dy[at - begin] inside the box, 0 outside.
DX_T kernel(int i) {
    int at[DX_RANK];
    dx_coords(i, at);
    for (int k = 0; k < BEGIN_LEN; ++k) {
        at[k] -= begin[k];
        if (at[k] < 0 || (size[k] >= 0 && at[k] >= size[k])) return DX_T(0);
    }
    return dy_v(at);
}
