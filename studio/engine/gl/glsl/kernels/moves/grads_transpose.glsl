// gradient of transpose: dx[at] = dy[to], where to[k] = at[perm[k]].
DX_T kernel(int i) {
    int at[DX_RANK];
    int to[DY_RANK];
    dx_coords(i, at);
    for (int k = 0; k < PERM_LEN; ++k) to[k] = at[perm[k]];
    return dy_v(to);
}
