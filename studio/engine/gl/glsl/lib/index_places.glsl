// Where indices lead. What is looked up in, or written to, is [outer, KEYS, INNER]; an index or a
// tuple of indices names one of the KEYS, and there are COUNT of them. DEPTH sizes stand in SIZES.
#define COUNT LAUNCH_0
#define KEYS LAUNCH_1

// The key of entry k; -1 where an index is outside.
int key_of(int k) {
    int sizes[DEPTH] = SIZES;
#if ELEMENTS
    int at[I_RANK];
    i_coords(k, at);
    int row = i_at(k), key = 0;
    if (row < 0) row += sizes[AXIS];
    if (row < 0 || row >= sizes[AXIS]) return -1;
    for (int d = 0; d < DEPTH; ++d) key = key * sizes[d] + (d == AXIS ? row : at[d]);
    return key;
#else
    int key = k / BETWEEN;
    for (int d = SHARED; d < DEPTH; ++d) {
        int row = i_at(k * (DEPTH - SHARED) + d - SHARED);
        if (row < 0) row += sizes[d];
        if (row < 0 || row >= sizes[d]) return -1;
        key = key * sizes[d] + row;
    }
    return key;
#endif
}
