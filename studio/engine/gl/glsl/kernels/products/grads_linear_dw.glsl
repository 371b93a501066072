// grads_linear_dw: dw[o, i] = sum over rows r of dy[r, o] x[r, i]; bound as y.
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() { return 1; }
int product_rows() { return OUT; }
int product_cols() { return IN; }
int product_depth() { return X_NUMEL / IN; }

ivec4 left_row(int o) { return ivec4(o); }
ivec4 left_depth(int r) { return ivec4(r * OUT); }
int find_left(ivec4 row, ivec4 depth) { return dy_cell_at(row.x + depth.x); }
float take_left(int cell) { return dy_load(cell); }
vec4 take_left4(int cell) { return dy_load4(cell); }

ivec4 right_col(int i) { return ivec4(i); }
ivec4 right_depth(int r) { return ivec4(r * IN); }
int find_right(ivec4 col, ivec4 depth) { return x_cell_at(col.x + depth.x); }
float take_right(int cell) { return x_load(cell); }
vec4 take_right4(int cell) { return x_load4(cell); }
