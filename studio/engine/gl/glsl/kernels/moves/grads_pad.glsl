// gradient of pad: dx[at] = dy[at + before].
DX_T kernel(int i) {
    int at[DX_RANK];
    dx_coords(i, at);
    for (int k = 0; k < PADS_LEN / 2; ++k) at[k] += pads[2 * k];
    return dy_v(at);
}
