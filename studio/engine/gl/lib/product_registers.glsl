// Runs a product without shared memory or barriers: every invocation owns PER_M x PER_N outputs.
#include "product.glsl"

#if !SHARED_TILES
void main() {
    Work work = work_of(THREAD);
    if (product_batch >= product_batches()) return;
    ivec4 rows[PER_M];
    ivec4 cols[PER_N];
    vec4 sum[PER_M * PER_N / 4];
    for (int m = 0; m < PER_M; ++m) rows[m] = left_row(within_rows(work.row + m));
    for (int n = 0; n < PER_N; ++n) cols[n] = right_col(within_cols(work.col + n));
    for (int e = 0; e < PER_M * PER_N / 4; ++e) sum[e] = vec4(0.0);
    for (int k = work.first; k < work.last; k += 4) {
        mat4 right[PER_N / 4];
        for (int q = 0; q < PER_N / 4; ++q) {
            right[q] = right_matrix(cols[q * 4], cols[q * 4 + 1], cols[q * 4 + 2], cols[q * 4 + 3],
                                   k, work.last);
        }
        for (int p = 0; p < PER_M / 4; ++p) {
            mat4 left = left_matrix(rows[p * 4], rows[p * 4 + 1], rows[p * 4 + 2], rows[p * 4 + 3],
                                   k, work.last);
            for (int e = 0; e < 4; ++e) {
                for (int q = 0; q < PER_N / 4; ++q) {
                    int at = (p * 4 + e) * (PER_N / 4) + q;
                    sum[at] += left[0][e] * right[q][0] + left[1][e] * right[q][1];
                    sum[at] += left[2][e] * right[q][2] + left[3][e] * right[q][3];
                }
            }
        }
    }
    for (int m = 0; m < PER_M; ++m) {
        for (int q = 0; q < PER_N / 4; ++q) {
            put_product(work, work.row + m, work.col + q * 4, sum[m * (PER_N / 4) + q]);
        }
    }
}
#endif
