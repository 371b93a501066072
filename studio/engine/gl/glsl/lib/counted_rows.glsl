// Classes of targets and predictions of CONFUSION; the first of equals and the first NaN are largest.
bool beats(float a, float best) { return a > best || (is_nan(a) && !is_nan(best)); }

int predicted_class(int r) {
    int best = 0;
    for (int k = 1; k < CLASSES; ++k) {
        if (beats(p_at(r * CLASSES + k), p_at(r * CLASSES + best))) best = k;
    }
    return best;
}

// -1 where the row does not count.
int target_class(int r) {
#if SPARSE
    int found = int(t_at(r));
#else
    int found = 0;
    for (int k = 1; k < CLASSES; ++k) {
        if (beats(float(t_at(r * CLASSES + k)), float(t_at(r * CLASSES + found)))) found = k;
    }
#endif
    return found < 0 || found >= CLASSES || found == ignore ? -1 : found;
}
