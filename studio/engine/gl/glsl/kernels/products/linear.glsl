// linear: y[m, o] = sum over k of x[m, k] w[o, k] + b[o].
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() { return 1; }
int product_rows() { return X_NUMEL / W_D1; }
int product_cols() { return W_D0; }
int product_depth() { return W_D1; }

ivec4 left_row(int m) { return ivec4(m * W_D1); }
ivec4 left_depth(int k) { return ivec4(k); }
int find_left(ivec4 row, ivec4 depth) { return x_cell_at(row.x + depth.x); }
float take_left(int cell) { return x_load(cell); }
vec4 take_left4(int cell) { return x_load4(cell); }

ivec4 right_col(int o) { return ivec4(o); }
ivec4 right_depth(int k) { return ivec4(k); }
int find_right(ivec4 col, ivec4 depth) { return w_cell(col.x, depth.x); }
float take_right(int cell) { return w_load(cell); }
vec4 take_right4(int cell) { return w_load4(cell); }
