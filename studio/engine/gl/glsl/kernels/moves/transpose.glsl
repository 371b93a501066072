// transpose: y[at[0], at[1], ...] = x[from], where from[perm[k]] = at[k].
Y_T kernel(int i) {
    int at[Y_RANK];
    int from[X_RANK];
    y_coords(i, at);
    for (int k = 0; k < PERM_LEN; ++k) from[perm[k]] = at[k];
    return x_v(from);
}
