// gradient of slice: dx[at] = dy[(at - begin) / step] on the cells of the box, 0 elsewhere.
DX_T kernel(int i) {
    int at[DX_RANK];
    dx_coords(i, at);
    for (int k = 0; k < BEGIN_LEN; ++k) {
        at[k] -= begin[k];
#if STEPS_LEN
        if (steps[k] < 0) at[k] = -at[k];
        if (at[k] < 0 || at[k] % abs(steps[k]) != 0) return DX_T(0);
        at[k] /= abs(steps[k]);
#endif
        if (at[k] < 0 || (size[k] >= 0 && at[k] >= size[k])) return DX_T(0);
    }
    return dy_v(at);
}
