// arg_extreme: y = index of the largest or smallest element along a dimension, LENGTH long, its elements
// APART from each other; the first of equals, the first NaN before all.
bool ends(float x) { return is_nan(x); }
bool ends(int x) { return false; }
int kernel(int row) {
    int first = row / APART * (LENGTH * APART) + row % APART;
    int best = 0;
    X_T found = x_at(first);
    for (int k = 1; k < LENGTH && !ends(found); ++k) {
        X_T value = x_at(first + k * APART);
        if (ends(value) || BEATS(value, found)) {
            best = k;
            found = value;
        }
    }
    return best;
}
