// conv2d: y[n,i,j,o] = b[o] + sum over r, s, c of x[n, i sh + r dh - ph, j sw + s dw - pw, c] w[r,s,c,o]:
// a product of positions by taps and taps by filters.
// The functions below say what is multiplied. The loops and main() are in lib/product_registers.glsl (a tile in
// registers) or lib/product_tiles.glsl (tiles in shared memory); which one compiles depends on the variant.
#include "window.glsl"
#include "convolved.glsl"
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() { return 1; }
int product_rows() { return X_D0 * OUT_H * OUT_W; }
int product_cols() { return FILTERS; }
int product_depth() { return KH * KW * CHANNELS; }

ivec4 left_row(int p) { return at_position(p); }
ivec4 left_depth(int k) { return at_tap(k); }

ivec4 right_col(int o) { return ivec4(o); }
ivec4 right_depth(int k) { return ivec4(k * FILTERS); }
int find_right(ivec4 col, ivec4 depth) { return w_cell_at(depth.x + col.x); }
float take_right(int cell) { return w_load(cell); }
vec4 take_right4(int cell) { return w_load4(cell); }
