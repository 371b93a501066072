// grads_conv2d_dx: dx[n,h,w,c] = sum over r, s, o of dy[n, (h + ph - r dh) / sh, (w + pw - s dw) / sw, o]
// w[r,s,c,o], where the divisions leave no rest: a product of pixels by taps and taps by channels;
// dx is bound as y. PHASED: one product for each phase, the pixels that meet the same taps.
#include "window.glsl"
#include "product_registers.glsl"
#include "product_tiles.glsl"
#include "phases.glsl"

int product_cols() { return CHANNELS; }
#ifndef PHASED
int product_batches() { return 1; }
int product_rows() { return DY_D0 * IN_H * IN_W; }
int product_depth() { return KH * KW * FILTERS; }
#endif

#if POINTWISE
ivec4 left_row(int p) { return ivec4(dy_cell_at(p * FILTERS)); }
ivec4 left_depth(int k) { return ivec4(k); }
int find_left(ivec4 row, ivec4 depth) { return row.x + depth.x; }
#else
ivec4 left_row(int p) {
#ifdef PHASED
    ivec3 at = met_by(p);
#else
    ivec3 at = ivec3(p / IN_W % IN_H + pad_h, p % IN_W + pad_w, p / IN_W / IN_H);
#endif
    return ivec4(at.xy, dy_cell(at.z, 0, 0, 0) + at.x * DY_S1 + at.y * DY_S2, 0);
}
ivec4 left_depth(int k) {
#ifdef PHASED
    ivec3 tap = tap_met(k) * ivec3(DOWN_REACH, ACROSS_REACH, 1);
#else
    ivec3 tap = tap_of(k, FILTERS);
#endif
    return ivec4(tap.xy, tap.z - tap.x * DY_S1 - tap.y * DY_S2, 0);
}

// The cell of dy a pixel meets through a tap; -1 where there is none. Negative indices are large
// unsigned ones.
int find_left(ivec4 row, ivec4 depth) {
    int i = row.x - depth.x, j = row.y - depth.y;
    return uint(i) < uint(OUT_H) && uint(j) < uint(OUT_W) ? row.z + depth.z : -1;
}
#endif
float take_left(int cell) { return dy_load(cell); }
vec4 take_left4(int cell) { return dy_load4(cell); }

ivec4 right_col(int c) { return ivec4(c * FILTERS); }
ivec4 right_depth(int k) {
#ifdef PHASED
    ivec3 met = tap_met(k);
    int tap = (down.z + met.x * DOWN_TAP) * KW + across.z + met.y * ACROSS_TAP;
    return ivec4(tap * (CHANNELS * FILTERS) + met.z);
#else
    return ivec4(k / FILTERS * (CHANNELS * FILTERS) + k % FILTERS);
#endif
}
int find_right(ivec4 col, ivec4 depth) { return w_cell_at(depth.x + col.x); }
float take_right(int cell) { return w_load(cell); }
vec4 take_right4(int cell) { return w_load4(cell); }
