// gradient of reverse: dx[at] = dy[at], counted from the end along the dimensions with a bit in TURNED.
DX_T kernel(int i) {
    int at[DX_RANK], sizes[DX_RANK];
    dx_coords(i, at);
    dx_sizes(sizes);
    for (int d = 0; d < DX_RANK; ++d) {
        if ((TURNED >> d & 1) == 1) at[d] = sizes[d] - 1 - at[d];
    }
    return dy_v(at);
}
