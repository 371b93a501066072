// matmul: y[z, m, n] = sum over k of left[z, m, k] right[z, k, n], matrices of any strides under leading
// dimensions that may repeat. A gradient of a repeated operand sums over its REPEATS as well: its
// depth is that of one product times their number.
//
// The pass gives ROWS_M, COLS_N, DEPTH_K, the strides LEFT_M, LEFT_K, RIGHT_N, RIGHT_K, and for the
// LEAD dimensions of the result and the SUMMED ones their sizes and both factors' strides along them.
#include "product_registers.glsl"
#include "product_tiles.glsl"

int product_batches() {
    int sizes[LEAD] = LEAD_SIZES, count = 1;
    for (int d = 0; d < LEAD; ++d) count *= sizes[d];
    return count;
}
int product_rows() { return ROWS_M; }
int product_cols() { return COLS_N; }
int repeats() {
    int sizes[SUMMED] = SUMMED_SIZES, count = 1;
    for (int d = 0; d < SUMMED; ++d) count *= sizes[d];
    return count;
}
int product_depth() { return DEPTH_K * repeats(); }

// Cell of a factor's matrix for the product at hand.
int lead_cell(int strides[LEAD]) {
    int sizes[LEAD] = LEAD_SIZES, z = product_batch, cell = 0;
    for (int d = LEAD - 1; d >= 0; --d) {
        cell += z % sizes[d] * strides[d];
        z /= sizes[d];
    }
    return cell;
}

// Cell of repeat `t` after that of the first.
int repeat_cell(int t, int strides[SUMMED]) {
    int sizes[SUMMED] = SUMMED_SIZES, cell = 0;
    for (int d = SUMMED - 1; d >= 0; --d) {
        cell += t % sizes[d] * strides[d];
        t /= sizes[d];
    }
    return cell;
}

ivec4 left_row(int m) { return ivec4(LEFT_BASE + lead_cell(LEFT_LEAD) + m * LEFT_M); }
ivec4 left_depth(int k) {
    if (REPEATS == 0) return ivec4(k * LEFT_K);
    return ivec4(repeat_cell(k / (DEPTH_K), LEFT_SUMMED) + k % (DEPTH_K) * LEFT_K);
}
int find_left(ivec4 row, ivec4 depth) { return row.x + depth.x; }
float take_left(int cell) { return left_load(cell); }
vec4 take_left4(int cell) { return left_load4(cell); }

ivec4 right_col(int n) { return ivec4(RIGHT_BASE + lead_cell(RIGHT_LEAD) + n * RIGHT_N); }
ivec4 right_depth(int k) {
    if (REPEATS == 0) return ivec4(k * RIGHT_K);
    return ivec4(repeat_cell(k / (DEPTH_K), RIGHT_SUMMED) + k % (DEPTH_K) * RIGHT_K);
}
int find_right(ivec4 col, ivec4 depth) { return col.x + depth.x; }
float take_right(int cell) { return right_load(cell); }
vec4 take_right4(int cell) { return right_load4(cell); }
