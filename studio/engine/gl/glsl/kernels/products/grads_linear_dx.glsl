// grads_linear_dx: dx[m, i] = sum over o of dy[m, o] w[o, i]; bound as y.
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() { return 1; }
int product_rows() { return DY_NUMEL / W_D0; }
int product_cols() { return W_D1; }
int product_depth() { return W_D0; }

ivec4 left_row(int m) { return ivec4(m * W_D0); }
ivec4 left_depth(int o) { return ivec4(o); }
int find_left(ivec4 row, ivec4 depth) { return dy_cell_at(row.x + depth.x); }
float take_left(int cell) { return dy_load(cell); }
vec4 take_left4(int cell) { return dy_load4(cell); }

ivec4 right_col(int i) { return ivec4(i); }
ivec4 right_depth(int o) { return ivec4(o); }
int find_right(ivec4 col, ivec4 depth) { return w_cell(depth.x, col.x); }
float take_right(int cell) { return w_load(cell); }
vec4 take_right4(int cell) { return w_load4(cell); }
