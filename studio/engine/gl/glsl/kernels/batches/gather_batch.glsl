// gather_batch: y[n] = data[order[(cursor + n) mod D]] over samples of INNER elements.
Y_T kernel(int i) {
    int n = i / INNER;
    int sample_number = order((step_word(2) + n) % ORDER_NUMEL);
    return data_at(sample_number * INNER + i % INNER);
}
