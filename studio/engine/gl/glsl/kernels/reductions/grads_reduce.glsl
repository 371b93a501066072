// grads_reduce: dx[e] = dy of its group, for a mean divided by the LAUNCH_0 elements of a group.
float kernel(int e) {
    int at[DX_RANK], sizes[DX_RANK];
    dx_coords(e, at);
    dx_sizes(sizes);
    int g = 0;
    for (int d = 0; d < DX_RANK; ++d) {
        if ((REDUCED >> d & 1) == 0) g = g * sizes[d] + at[d];
    }
    return dy_at(g) / (MEAN == 1 ? float(LAUNCH_0) : 1.0);
}
