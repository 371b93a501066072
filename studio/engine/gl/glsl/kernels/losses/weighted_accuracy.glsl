// weighted_accuracy, term r (binary: of element r): its weight where it is right. EACH terms have one weight.
#if KIND == KIND_BINARY
float right(int i) { return float(float(p_at(i) > threshold) == float(t_at(i))); }
#else
bool beats(float a, float best) { return a > best || (is_nan(a) && !is_nan(best)); }

float right(int r) {
    int first = r * CLASSES, guess = 0;
    for (int k = 1; k < CLASSES; ++k) {
        if (beats(p_at(first + k), p_at(first + guess))) guess = k;
    }
#if KIND == KIND_SPARSE
    return float(int(t_at(r)) == guess);
#else
    int wanted = 0;
    for (int k = 1; k < CLASSES; ++k) {
        if (beats(float(t_at(first + k)), float(t_at(first + wanted)))) wanted = k;
    }
    return float(wanted == guess);
#endif
}
#endif

float term(int r) { return right(r) * weights(r / EACH); }
