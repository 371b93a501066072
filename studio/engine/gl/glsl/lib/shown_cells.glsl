// Modes of PAD: which cell of a dimension a place outside shows.

// Non-negative remainder.
int turned(int index, int period) {
    int rest = abs(index) % period;
    return index >= 0 || rest == 0 ? rest : period - rest;
}

// Index of the cell that place `index` of a dimension of `size` cells shows.
int shown_cell(int index, int size) {
    if (index >= 0 && index < size) return index;
#if MODE == MODE_EDGE
    return index < 0 ? 0 : size - 1;
#elif MODE == MODE_WRAP
    return turned(index, size);
#elif MODE == MODE_REFLECT
    int place = size == 1 ? 0 : turned(index, 2 * size - 2);
    return min(place, 2 * size - 2 - place);
#else
    int place = turned(index, 2 * size);
    return min(place, 2 * size - 1 - place);
#endif
}
