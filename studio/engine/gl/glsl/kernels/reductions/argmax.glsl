// argmax: y = index of the largest element along the last dimension, LENGTH long; the first of equals,
// the first NaN before all.
int kernel(int row) {
    int best = 0;
    float high = float(x_at(row * LENGTH));
    for (int k = 1; k < LENGTH && !is_nan(high); ++k) {
        float value = float(x_at(row * LENGTH + k));
        if (is_nan(value) || value > high) {
            best = k;
            high = value;
        }
    }
    return best;
}
