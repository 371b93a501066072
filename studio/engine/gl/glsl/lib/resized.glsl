// Places of RESIZE along one dimension: result i of `length` looks at a place among `size` cells.

#if METHOD == METHOD_BICUBIC
#define SUPPORT 2.0
#else
#define SUPPORT 1.0
#endif
#define LEAVES_OUT (EXCLUDE == 1 || ANTIALIAS == 1)

// The place as whole cells and a fraction rest / below, which are whole numbers and therefore exact.
struct Place { int whole; int rest; int below; };

Place place_of(int i, int size, int length) {
#if COORDS == COORDS_ALIGN_CORNERS
    int above = i * (size - 1), below = max(length - 1, 1);
#elif COORDS == COORDS_ASYMMETRIC
    int above = i * size, below = length;
#else
    int above = (2 * i + 1) * size - length, below = 2 * length;
#endif
    int whole = above >= 0 ? above / below : -((below - 1 - above) / below);
    return Place(whole, above - whole * below, below);
}

int nearest_cell(int i, int size, int length) {
    Place p = place_of(i, size, length);
#if ROUNDING == ROUNDING_HALF_UP
    bool up = 2 * p.rest >= p.below;
#elif ROUNDING == ROUNDING_HALF_DOWN
    bool up = 2 * p.rest > p.below;
#elif ROUNDING == ROUNDING_UP
    bool up = p.rest > 0;
#else
    bool up = false;
#endif
    return max(min(p.whole + int(up), size - 1), 0);
}

// How many cells wide the unit of distance is.
float unit_of_distance(int size, int length) {
    return ANTIALIAS == 1 && size > length ? float(size) / float(length) : 1.0;
}

float weight_of(float distance) {
    float d = abs(distance);
#if METHOD == METHOD_BICUBIC
    if (d <= 1.0) return ((cubic + 2.0) * d - (cubic + 3.0)) * d * d + 1.0;
    return d < 2.0 ? cubic * (((d - 5.0) * d + 8.0) * d - 4.0) : 0.0;
#else
    return d < 1.0 ? 1.0 - d : 0.0;
#endif
}

// The cells that a result weighs: from tap `first` to `last`, by their distance from `place`.
struct Taps { int first; int last; int whole; float part; float unit; };

Taps taps_of(int i, int size, int length) {
    Place p = place_of(i, size, length);
    float part = float(p.rest) / float(p.below), unit = unit_of_distance(size, length);
    float reach = SUPPORT * unit;
    return Taps(p.whole + int(floor(part - reach)) + 1, p.whole + int(ceil(part + reach)) - 1,
                p.whole, part, unit);
}

// The weight of tap j; 0 beyond the border where cells there are left out.
float tap_weight(Taps t, int j, int size) {
    if (LEAVES_OUT && (j < 0 || j >= size)) return 0.0;
    return weight_of((float(j - t.whole) - t.part) / t.unit);
}

int tap_cell(int j, int size) { return max(min(j, size - 1), 0); }

// What weights are divided by.
float tap_total(Taps t, int size) {
    if (!LEAVES_OUT) return 1.0;
    float total = 0.0;
    for (int j = t.first; j <= t.last; ++j) total += tap_weight(t, j, size);
    return total;
}

// With what weight result i takes a cell.
float share_of(int i, int cell, int size, int length) {
#if METHOD == METHOD_NEAREST
    return nearest_cell(i, size, length) == cell ? 1.0 : 0.0;
#else
    Taps t = taps_of(i, size, length);
    float share = 0.0;
    if (cell > max(t.last, 0) || cell < min(t.first, size - 1)) return 0.0;
    for (int j = t.first; j <= t.last; ++j) {
        if (tap_cell(j, size) == cell) share += tap_weight(t, j, size);
    }
    return share == 0.0 ? 0.0 : share / tap_total(t, size);
#endif
}

// Results that may take a cell: the first and the last, a few too many.
ivec2 takers_of(int cell, int size, int length) {
    float reach = SUPPORT * unit_of_distance(size, length) + 1.0;
#if COORDS == COORDS_ALIGN_CORNERS
    float each = float(length - 1) / float(max(size - 1, 1)), shift = 0.0;
#else
    float each = float(length) / float(size), shift = COORDS == COORDS_ASYMMETRIC ? 0.0 : 0.5;
#endif
    int first = int(floor((float(cell) - reach + shift) * each - shift)) - 1;
    int last = int(ceil((float(cell) + reach + shift) * each - shift)) + 1;
    return ivec2(cell == 0 ? 0 : max(first, 0), cell == size - 1 ? length - 1 : min(last, length - 1));
}
