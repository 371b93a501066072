// gather_batch: y[n] = data[order[(cursor + n) mod D]], cursor from the step block.
Y_T kernel(int i) {
    int at[Y_RANK];
    y_coords(i, at);
    at[0] = order((step_word(2) + at[0]) % ORDER_NUMEL);
    return data_v(at);
}
