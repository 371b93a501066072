// Runs a product without shared memory or barriers: every invocation owns PER_M x PER_N outputs.
#include "product.glsl"

#if !SHARED_TILES
float left_number(ivec4 row, ivec4 depth) {
    int cell = find_left(row, depth);
    float value = take_left(max(cell, 0));
    return LEFT_GAPS == 1 && cell < 0 ? 0.0 : value;
}

vec4 left_four(ivec4 row, ivec4 depth) {
    int cell = find_left(row, depth);
    vec4 value = take_left4(max(cell, 0));
    return LEFT_GAPS == 1 && cell < 0 ? vec4(0.0) : value;
}

// Depth k .. k+3 (columns of the matrix) by rows m .. m+3 whose first steps are given.
mat4 left_matrix(ivec4 r0, ivec4 r1, ivec4 r2, ivec4 r3, int k, int last) {
    mat4 block;
#if LEFT_VEC && LEFT_ALONG_K
    ivec4 depth = left_depth(min(k, last - 4));
    block = transpose(mat4(left_four(r0, depth), left_four(r1, depth), left_four(r2, depth),
                           left_four(r3, depth)));
#else
    for (int e = 0; e < 4; ++e) {
        ivec4 depth = left_depth(min(k + e, last - 1));
#if LEFT_VEC
        block[e] = left_four(r0, depth);
#else
        block[e] = vec4(left_number(r0, depth), left_number(r1, depth), left_number(r2, depth),
                        left_number(r3, depth));
#endif
    }
#endif
#if !EVEN_DEPTH
    for (int e = 0; e < 4; ++e) block[e] = k + e < last ? block[e] : vec4(0.0);
#endif
    return block;
}

float right_number(ivec4 col, ivec4 depth) { return take_right(find_right(col, depth)); }
vec4 right_four(ivec4 col, ivec4 depth) { return take_right4(find_right(col, depth)); }

// Depth k .. k+3 (columns of the matrix) by columns n .. n+3.
mat4 right_matrix(ivec4 c0, ivec4 c1, ivec4 c2, ivec4 c3, int k, int last) {
    mat4 block;
#if RIGHT_VEC && RIGHT_ALONG_K
    ivec4 depth = right_depth(min(k, last - 4));
    block = transpose(mat4(right_four(c0, depth), right_four(c1, depth), right_four(c2, depth),
                           right_four(c3, depth)));
#else
    for (int e = 0; e < 4; ++e) {
        ivec4 depth = right_depth(min(k + e, last - 1));
#if RIGHT_VEC
        block[e] = right_four(c0, depth);
#else
        block[e] = vec4(right_number(c0, depth), right_number(c1, depth), right_number(c2, depth),
                        right_number(c3, depth));
#endif
    }
#endif
#if !EVEN_DEPTH
    for (int e = 0; e < 4; ++e) block[e] = k + e < last ? block[e] : vec4(0.0);
#endif
    return block;
}

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
