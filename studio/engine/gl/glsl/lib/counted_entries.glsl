// What THRESHOLD_COUNTS makes of a prediction: the thresholds it is above, none where it does not
// count. CLASSES is the length of a row.

// Whether prediction i of row r is one of the top_k largest, the first of equals.
bool is_chosen(int r, int c) {
    float own = p_at(r * CLASSES + c);
    int before = 0;
    for (int k = 0; k < CLASSES; ++k) {
        float other = p_at(r * CLASSES + k);
        before += int(other > own || (other == own && k < c));
    }
    return before < top_k;
}

int thresholds_below(int r, int c) {
    if (top_k > 0 && !is_chosen(r, c)) return 0;
    float value = p_at(r * CLASSES + c);
    int low = 0, high = THRESHOLDS_NUMEL;
    while (low < high) {
        int middle = (low + high) / 2;
        if (value > thresholds_at(middle)) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool is_positive(int i) { return float(t_at(i)) != 0.0; }
