// fold_products: y[i] = sum over LAUNCH_0 parts of scratch[part][i], in ascending order, + bias.
float kernel(int i) {
    float sum = 0.0;
    for (int part = 0; part < LAUNCH_0; ++part) sum += scratch[part * Y_NUMEL + i];
#if HAS_BIAS
    sum += bias_load(i % COLS);
#endif
    return sum;
}
