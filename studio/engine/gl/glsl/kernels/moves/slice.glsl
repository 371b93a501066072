// slice: y[at] = x[begin + at step].
Y_T kernel(int i) {
    int at[Y_RANK];
    y_coords(i, at);
#if STEPS_LEN
    for (int k = 0; k < STEPS_LEN; ++k) at[k] *= steps[k];
#endif
    for (int k = 0; k < BEGIN_LEN; ++k) at[k] += begin[k];
    return x_v(at);
}
