// Places of SAMPLE_GRID along one dimension: which of its `size` cells a number of the grid names.

// How far a place moves as the number does.
float step_of(int size) {
#if COORDS == COORDS_ALIGN_CORNERS
    return 0.5 * float(size - 1);
#elif COORDS == COORDS_PIXELS
    return 1.0;
#else
    return 0.5 * float(size);
#endif
}

// The first of the cells weighed, the share of the second, and how far the place moves with the
// number of the grid. Not `there` where the place is not finite.
struct Taps { int first; float part; float slope; bool there; };

Taps taps_of(float g, int size) {
    float last = float(size - 1), slope = step_of(size);
#if COORDS == COORDS_ALIGN_CORNERS
    float p = (g + 1.0) * 0.5 * last;
#elif COORDS == COORDS_PIXELS
    float p = g;
#else
    float p = ((g + 1.0) * float(size) - 1.0) * 0.5;
#endif
    if (is_bad(p)) return Taps(0, 0.0, 0.0, false);
#if OUTSIDE == OUTSIDE_REFLECT
#if COORDS == COORDS_ALIGN_CORNERS
    float low = 0.0, span = last;
#else
    float low = -0.5, span = float(size);
#endif
    float far = abs(p - low), turns = span > 0.0 ? floor(far / span) : 0.0;
    if (p < low) slope = -slope;
    bool odd = turns - 2.0 * floor(turns * 0.5) > 0.5;
    far -= turns * span;
    if (odd) slope = -slope;
    p = (odd ? span - far : far) + low;
#endif
#if OUTSIDE == OUTSIDE_ZEROS
    p = within(p, -2.0, last + 2.0);
#else
    if (p <= 0.0 || p >= last) slope = 0.0;
    p = within(p, 0.0, last);
#endif
#if METHOD == METHOD_NEAREST
    return Taps(int(roundEven(p)), 0.0, 0.0, true);
#else
    float whole = floor(p);
    return Taps(int(whole), p - whole, slope, true);
#endif
}

bool is_cell(Taps t, int k, int size) { return t.first + k >= 0 && t.first + k < size; }

float tap_weight(Taps t, int k, int size) {
    return is_cell(t, k, size) ? (k == 0 ? 1.0 - t.part : t.part) : 0.0;
}

// How the weight changes with the number of the grid.
float tap_slope(Taps t, int k, int size) {
    return is_cell(t, k, size) ? (k == 0 ? -t.slope : t.slope) : 0.0;
}
