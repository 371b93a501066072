// argmax: y = index of the largest element along the last dimension, LENGTH long; the first of equals,
// the first NaN before all.
bool ends(float x) { return is_nan(x); }
bool ends(int x) { return false; }
int kernel(int row) {
    int best = 0;
    X_T high = x_at(row * LENGTH);
    for (int k = 1; k < LENGTH && !ends(high); ++k) {
        X_T value = x_at(row * LENGTH + k);
        if (ends(value) || value > high) {
            best = k;
            high = value;
        }
    }
    return best;
}
