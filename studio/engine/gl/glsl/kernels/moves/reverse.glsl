// reverse: y[at] = x[at], counted from the end along the dimensions with a bit in TURNED.
Y_T kernel(int i) {
    int at[Y_RANK], sizes[Y_RANK];
    y_coords(i, at);
    y_sizes(sizes);
    for (int d = 0; d < Y_RANK; ++d) {
        if ((TURNED >> d & 1) == 1) at[d] = sizes[d] - 1 - at[d];
    }
    return x_v(at);
}
