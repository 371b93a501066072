// conv2d_direct: a convolution of stride 1 with few channels, or the gradient of its input, which is one
// too: y[n,i,j,o] = b[o] + sum over r, s, c of source[n, i + r - TOP, j + s - LEFT, c] weight[r,s,c,o].
// An invocation has four channels of the result at NEIGHBOURS positions of a row; weights of BLOCK
// channels wait in shared memory. FLIPPED weights are w[KH - 1 - r, KW - 1 - s, o, c]. LAUNCH_0 rows of
// neighbours; LAUNCH_1 = KH * IN_C / 4 steps, a number drivers do not know, so that they keep the loop.
#pragma optionNV(unroll all)
#include "partial_sums.glsl"
#define QUADS (BLOCK / 4)
#define REACH (NEIGHBOURS + KW - 1)

shared vec4 weights[KH * KW * IN_C * QUADS];

vec4 weight(int tap, int c, int o) {
#if FLIPPED
    int at = ((KH * KW - 1 - tap) * OUT_C + o) * IN_C + c;
    return vec4(w_load(at), w_load(at + IN_C), w_load(at + 2 * IN_C), w_load(at + 3 * IN_C));
#else
    return w_load4((tap * IN_C + c) * OUT_C + o);
#endif
}

void main() {
    int local = int(gl_LocalInvocationIndex), q = local % QUADS;
    int block = GROUP % (OUT_C / BLOCK) * BLOCK;
    int count = KH * KW * IN_C * QUADS;
    for (int k = local; k < count; k += GROUP_SIZE) {
        weights[k] = weight(k / QUADS / IN_C, k / QUADS % IN_C, block + k % QUADS * 4);
    }
    barrier();
    int at = GROUP / (OUT_C / BLOCK) * (GROUP_SIZE / QUADS) + local / QUADS;
    bool mine = at < LAUNCH_0;
    at = min(at, LAUNCH_0 - 1);
    int j = at % (Y_D2 / NEIGHBOURS) * NEIGHBOURS;
    at /= Y_D2 / NEIGHBOURS;
    int i = at % Y_D1, n = at / Y_D1;
    vec4 sum[NEIGHBOURS];
    for (int p = 0; p < NEIGHBOURS; ++p) {
#if HAS_BIAS
        sum[p] = bias_load4(block + q * 4);
#else
        sum[p] = vec4(0.0);
#endif
    }
    for (int step = 0; step < LAUNCH_1; ++step) {
        int r = step / (IN_C / 4), c = step % (IN_C / 4) * 4;
        int cell = source_cell(n, i + r - TOP, j - LEFT, c);
        vec4 window[REACH];
        for (int k = 0; k < REACH; ++k) {
#if HALO
            window[k] = source_load4(cell + k * SOURCE_S2);
#else
            // Negative indices are large unsigned ones.
            bool there = uint(i + r - TOP) < uint(SOURCE_D1) && uint(j + k - LEFT) < uint(SOURCE_D2);
            vec4 value = source_load4(there ? cell + k * SOURCE_S2 : 0);
            window[k] = there ? value : vec4(0.0);
#endif
        }
        for (int s = 0; s < KW; ++s) {
            for (int e = 0; e < 4; ++e) {
                vec4 share = weights[((r * KW + s) * IN_C + c + e) * QUADS + q];
                for (int p = 0; p < NEIGHBOURS; ++p) sum[p] += window[p + s][e] * share;
            }
        }
    }
#ifdef Y_HOLDS
    for (int p = 0; p < NEIGHBOURS; ++p) hold_y4(p, n, i, j + p, block + q * 4);
    for (int p = 0; p < NEIGHBOURS; ++p) {
        if (mine) store_y4_held(p, n, i, j + p, block + q * 4, sum[p]);
    }
#else
    for (int p = 0; p < NEIGHBOURS; ++p) {
        if (mine) store_y4(n, i, j + p, block + q * 4, sum[p]);
    }
#endif
    LEAVE_SUMS(GROUP / (OUT_C / BLOCK), block + q * 4);
}
