// slice: y[at] = x[at + begin].
Y_T kernel(int i) {
    int at[Y_RANK];
    y_coords(i, at);
    for (int k = 0; k < BEGIN_LEN; ++k) at[k] += begin[k];
    return x_v(at);
}
