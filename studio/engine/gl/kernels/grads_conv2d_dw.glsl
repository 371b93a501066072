// grads_conv2d_dw: dw[r,s,c,o] = sum over n, i, j of x[n, i sh + r dh - ph, j sw + s dw - pw, c]
// dy[n,i,j,o]: a product of taps by positions and positions by filters; dw is bound as y.
#include "window.glsl"
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() { return 1; }
int product_rows() { return KH * KW * CHANNELS; }
int product_cols() { return FILTERS; }
int product_depth() { return X_D0 * OUT_H * OUT_W; }

ivec4 left_row(int k) {
#if POINTWISE
    return ivec4(0, 0, k, 0);
#else
    ivec3 tap = tap_of(k, CHANNELS);
    return ivec4(tap.xy, tap.x * X_S1 + tap.y * X_S2 + tap.z, 0);
#endif
}
ivec4 left_depth(int p) {
#if POINTWISE
    return ivec4(0, 0, x_cell_at(p * CHANNELS), 0);
#else
    ivec3 at = window_of(p);
    return ivec4(at.xy, x_cell(at.z, 0, 0, 0) + at.x * X_S1 + at.y * X_S2, 0);
#endif
}
bool reached(ivec4 row, ivec4 depth) { return HALO == 1 || inside(row.x + depth.x, row.y + depth.y); }
float take_left(ivec4 row, ivec4 depth) {
    bool there = reached(row, depth);
    float value = x_load(there ? row.z + depth.z : SAFE);
    return there ? value : 0.0;
}
vec4 take_left4(ivec4 row, ivec4 depth) {
    bool there = reached(row, depth);
    vec4 value = x_load4(there ? row.z + depth.z : SAFE);
    return there ? value : vec4(0.0);
}

ivec4 right_col(int o) { return ivec4(o); }
ivec4 right_depth(int p) { return ivec4(p * FILTERS); }
float take_right(ivec4 col, ivec4 depth) { return dy_at(depth.x + col.x); }
vec4 take_right4(ivec4 col, ivec4 depth) { return dy_load4(dy_cell_at(depth.x + col.x)); }
