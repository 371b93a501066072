// grads_conv2d_dw: dw[r,s,c,o] = sum over n, i, j of x[n, i sh + r dh - ph, j sw + s dw - pw, c]
// dy[n,i,j,o]: a product of taps by positions and positions by filters; dw is bound as y.
#include "window.glsl"
#include "convolved.glsl"
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() { return 1; }
int product_rows() { return KH * KW * CHANNELS; }
int product_cols() { return FILTERS; }
int product_depth() { return X_D0 * OUT_H * OUT_W; }

ivec4 left_row(int k) { return at_tap(k); }
ivec4 left_depth(int p) { return at_position(p); }

ivec4 right_col(int o) { return ivec4(o); }
ivec4 right_depth(int p) { return ivec4(p * FILTERS); }
int find_right(ivec4 col, ivec4 depth) { return dy_cell_at(depth.x + col.x); }
float take_right(int cell) { return dy_load(cell); }
vec4 take_right4(int cell) { return dy_load4(cell); }
