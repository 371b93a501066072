// fold_scratch: y[i] = sum over s of scratch[s][i], LAUNCH_0 partial sums in ascending order.
float kernel(int i) {
    float sum = 0.0;
    for (int s = 0; s < LAUNCH_0; ++s) sum += scratch[s * Y_NUMEL + i];
    return sum;
}
