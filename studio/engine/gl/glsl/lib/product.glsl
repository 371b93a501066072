// The frame of every dense product: y[z, m, n] = sum over k of left(z, m, k) right(z, k, n), + bias[n].
//
// A kernel says where its factors lie and nothing about tiles: sizes, and for each factor a first
// step (what a row, a column or a depth index means, kept in an ivec4), a second (the cell of an element,
// of the left factor -1 where there is none and 0 is meant) and a third (the element in a cell, or four
// neighbours). Two engines run it: product_tiles.glsl for GPUs, product_registers.glsl for
// renderers on a CPU, where barriers and shared memory are dear.
//
// Macros of the pass: TILE_M, TILE_N (outputs a tile), TILE_K (depth a round), PER_M, PER_N (outputs
// an invocation), LEFT_VEC, RIGHT_VEC, OUT_VEC (four neighbours are one access), LEFT_ALONG_K,
// RIGHT_ALONG_K (the neighbours follow k; otherwise m or n), LEFT_GAPS (cells may be -1), EVEN_DEPTH (no round reaches past the end
// of the depth), HAS_BIAS. LAUNCH_0 is the number of parts the depth is cut into, LAUNCH_1 the
// depth of one. With PARTIAL sums go to scratch[part][z][m][n] and fold_products.glsl adds them up.

#include "partial_sums.glsl"

int product_batches();
int product_rows();
int product_cols();
int product_depth();
ivec4 left_row(int m);
ivec4 left_depth(int k);
ivec4 right_col(int n);
ivec4 right_depth(int k);
int find_left(ivec4 row, ivec4 depth);
int find_right(ivec4 col, ivec4 depth);
float take_left(int cell);
vec4 take_left4(int cell);
float take_right(int cell);
vec4 take_right4(int cell);

// Which product of the batch this invocation works on; kernels read it in their first steps.
int product_batch;

// PHASED: the products of the batch make one result together, each has a depth of its own, maybe none,
// and the kernel says where a row lies; -1 for one that is not there.
#ifdef PHASED
void begin_phase();
int placed_row(int m);
#define FORMER_ROWS (product_batch * product_rows())
#define HAS_DEPTH(work) (work.first < work.last)
#else
#define FORMER_ROWS 0
#define HAS_DEPTH(work) true
#endif

struct Work {
    int row;
    int col;
    int part;
    int first;
    int last;
};

// What tile `index` of the line of tiles is; last <= first where there is none.
Work work_of(int index) {
    int cols = (product_cols() + TILE_N - 1) / TILE_N;
    int rows = (product_rows() + TILE_M - 1) / TILE_M;
    Work work;
    work.col = index % cols * TILE_N;
    index /= cols;
    work.row = index % rows * TILE_M;
    index /= rows;
    work.part = index % LAUNCH_0;
    product_batch = index / LAUNCH_0;
#ifdef PHASED
    begin_phase();
#endif
    work.first = work.part * LAUNCH_1;
    work.last = min(product_depth(), work.first + LAUNCH_1);
    return work;
}

// Indices past the end repeat the last row or column: what they give is never stored. With vec4
// access sizes are multiples of 4, and so is the last index kept.
int within_rows(int m) { return min(m, product_rows() - (LEFT_VEC == 1 && LEFT_ALONG_K == 0 ? 4 : 1)); }
int within_cols(int n) { return min(n, product_cols() - (RIGHT_VEC == 1 && RIGHT_ALONG_K == 0 ? 4 : 1)); }

// Stores four neighbours of a row, those inside the result.
void put_product(Work work, int m, int n, vec4 value) {
    int rows = product_rows(), cols = product_cols();
    if (m >= rows || n >= cols) return;
#ifdef PHASED
    m = placed_row(m);
    if (m < 0) return;
    int at = m * cols + n;
#else
    int at = (product_batch * rows + m) * cols + n;
#endif
#if PARTIAL
    at += work.part * product_batches() * rows * cols;
    for (int e = 0; e < 4; ++e) if (n + e < cols) scratch[at + e] = value[e];
#elif OUT_VEC
#if HAS_BIAS
    value += bias_load4(n);
#endif
    store_y4_at(at, value);
#else
    for (int e = 0; e < 4; ++e) {
        if (n + e >= cols) break;
#if HAS_BIAS
        value[e] += bias_load(n + e);
#endif
        store_y_at(at + e, value[e]);
    }
#endif
}
