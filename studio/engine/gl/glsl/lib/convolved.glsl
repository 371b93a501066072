// The input of a convolution as the left factor of a product: positions of windows by taps, or turned.
// Needs window.glsl. POINTWISE windows are one cell at their position; HALO says that the storage
// holds a cell for every tap, else SAFE is read where there is none, and 0 taken.
ivec4 at_position(int p) {
#if POINTWISE
    return ivec4(0, 0, x_cell_at(p * CHANNELS), 0);
#else
    ivec3 at = window_of(p);
    return ivec4(at.xy, x_cell(at.z, 0, 0, 0) + at.x * X_S1 + at.y * X_S2, 0);
#endif
}

ivec4 at_tap(int k) {
#if POINTWISE
    return ivec4(0, 0, k, 0);
#else
    ivec3 tap = tap_of(k, CHANNELS);
    return ivec4(tap.xy, tap.x * X_S1 + tap.y * X_S2 + tap.z, 0);
#endif
}

bool reached(ivec4 row, ivec4 depth) { return HALO == 1 || inside(row.x + depth.x, row.y + depth.y); }

int find_left(ivec4 row, ivec4 depth) { return reached(row, depth) ? row.z + depth.z : -1; }
float take_left(int cell) { return x_load(cell); }
vec4 take_left4(int cell) { return x_load4(cell); }

float take_left(ivec4 row, ivec4 depth) {
    bool there = reached(row, depth);
    float value = x_load(there ? row.z + depth.z : SAFE);
    return there ? value : 0.0;
}
