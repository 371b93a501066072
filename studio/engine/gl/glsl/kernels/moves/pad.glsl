// pad: y[at] = x[at - before] inside x, fill outside. `inside` holds the sizes of x.
Y_T kernel(int i) {
    int at[Y_RANK];
    int inside[X_RANK];
    y_coords(i, at);
    x_sizes(inside);
    for (int k = 0; k < PADS_LEN / 2; ++k) {
        at[k] -= pads[2 * k];
        if (at[k] < 0 || at[k] >= inside[k]) return Y_T(fill);
    }
    return x_v(at);
}
