// Indices of reductions: REDUCED has a bit for every dimension of x that is reduced.

// Indices of element r of group g, both counted in row-major order over their own dimensions.
void place_of(int g, int r, out int at[X_RANK]) {
    int sizes[X_RANK];
    x_sizes(sizes);
    for (int d = X_RANK - 1; d >= 0; --d) {
        if ((REDUCED >> d & 1) == 1) {
            at[d] = r % sizes[d];
            r /= sizes[d];
        } else {
            at[d] = g % sizes[d];
            g /= sizes[d];
        }
    }
}
