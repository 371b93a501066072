// grads_conv2d_dx: dx[n,h,w,c] = sum over r, s, o of dy[n, (h + ph - r dh) / sh, (w + pw - s dw) / sw, o]
// w[r,s,c,o], where the divisions leave no rest: a product of pixels by taps and taps by channels;
// dx is bound as y.
#include "window.glsl"
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() { return 1; }
int product_rows() { return DY_D0 * IN_H * IN_W; }
int product_cols() { return CHANNELS; }
int product_depth() { return KH * KW * FILTERS; }

#if POINTWISE
ivec4 left_row(int p) { return ivec4(dy_cell_at(p * FILTERS)); }
ivec4 left_depth(int k) { return ivec4(k); }
int find_left(ivec4 row, ivec4 depth) { return row.x + depth.x; }
#else
#define STRIDED (STRIDE_H > 1 || STRIDE_W > 1)
ivec4 left_row(int p) {
    int j = p % IN_W + pad_w;
    p /= IN_W;
    int i = p % IN_H + pad_h, cell = dy_cell(p / IN_H, 0, 0, 0);
    return ivec4(i, j, STRIDED ? cell : cell + i * DY_S1 + j * DY_S2, 0);
}
ivec4 left_depth(int k) {
    ivec3 tap = tap_of(k, FILTERS);
    return ivec4(tap.xy, STRIDED ? tap.z : tap.z - tap.x * DY_S1 - tap.y * DY_S2, 0);
}

// The cell of dy a pixel meets through a tap; -1 where there is none. Negative indices are large
// unsigned ones.
int find_left(ivec4 row, ivec4 depth) {
    int i = row.x - depth.x, j = row.y - depth.y;
#if STRIDED
    if (i < 0 || j < 0 || i % STRIDE_H != 0 || j % STRIDE_W != 0) return -1;
    i /= STRIDE_H;
    j /= STRIDE_W;
    return i < OUT_H && j < OUT_W ? row.z + i * DY_S1 + j * DY_S2 + depth.z : -1;
#else
    return uint(i) < uint(OUT_H) && uint(j) < uint(OUT_W) ? row.z + depth.z : -1;
#endif
}
#endif
float take_left(int cell) { return dy_load(cell); }
vec4 take_left4(int cell) { return dy_load4(cell); }

ivec4 right_col(int c) { return ivec4(c * FILTERS); }
ivec4 right_depth(int k) { return ivec4(k / FILTERS * (CHANNELS * FILTERS) + k % FILTERS); }
int find_right(ivec4 col, ivec4 depth) { return w_cell_at(depth.x + col.x); }
float take_right(int cell) { return w_load(cell); }
vec4 take_right4(int cell) { return w_load4(cell); }
