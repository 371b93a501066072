// grads_conv2d_dw_direct: dw[r,s,c,o] = sum over n, i, j of x[n, i sh + r - ph, j sw + s - pw, c] dy[n,i,j,o]
// without a product: an invocation has one r, all s, four channels and four filters, and goes over
// rows of NEIGHBOURS positions. COMBOS invocations make QUADS * 4 filters of dw; SLOTS of them share a
// work group. scratch[part][r,s,c,o] over LAUNCH_0 parts; groups go over blocks of filters first.
#pragma optionNV(unroll all)
#define CHANNEL_QUADS (CHANNELS / 4)
#define COMBOS (KH * CHANNEL_QUADS * QUADS)
#define REACH ((NEIGHBOURS - 1) * STRIDE_W + KW)
#define BLOCKS (FILTERS / 4 / QUADS)

#if SLOTS > 1
shared vec4 slot_sums[4 * GROUP_SIZE];
#endif

void main() {
    int local = int(gl_LocalInvocationIndex), combo = local % COMBOS, slot = local / COMBOS;
    int r = combo / QUADS / CHANNEL_QUADS, c = combo / QUADS % CHANNEL_QUADS * 4;
    int part = GROUP / BLOCKS, o = (GROUP % BLOCKS * QUADS + combo % QUADS) * 4;
    int rows = X_D0 * OUT_H * (OUT_W / NEIGHBOURS);
    vec4 sums[KW * 4];
    for (int k = 0; k < KW * 4; ++k) sums[k] = vec4(0.0);
    for (int at = part * SLOTS + slot; at < rows; at += LAUNCH_0 * SLOTS) {
        int j = at % (OUT_W / NEIGHBOURS) * NEIGHBOURS, line = at / (OUT_W / NEIGHBOURS);
        int i = line % OUT_H, n = line / OUT_H;
        int h = i * STRIDE_H + r - pad_h, w = j * STRIDE_W - pad_w, cell = x_cell(n, h, w, c);
        vec4 window[REACH], g[NEIGHBOURS];
        for (int k = 0; k < REACH; ++k) {
#if HALO
            window[k] = x_load4(cell + k * X_S2);
#else
            // Negative indices are large unsigned ones.
            bool there = uint(h) < uint(IN_H) && uint(w + k) < uint(IN_W);
            vec4 value = x_load4(there ? cell + k * X_S2 : 0);
            window[k] = there ? value : vec4(0.0);
#endif
        }
        for (int p = 0; p < NEIGHBOURS; ++p) g[p] = dy_load4(dy_cell(n, i, j + p, o));
        for (int p = 0; p < NEIGHBOURS; ++p) {
            for (int k = 0; k < KW * 4; ++k) sums[k] += window[p * STRIDE_W + k / 4][k % 4] * g[p];
        }
    }
#if SLOTS > 1
    for (int s = 0; s < KW; ++s) {
        for (int e = 0; e < 4; ++e) slot_sums[e * GROUP_SIZE + local] = sums[s * 4 + e];
        barrier();
        for (int e = 0; e < 4; ++e) {
            if (slot > 0) continue;
            for (int k = 1; k < SLOTS; ++k) sums[s * 4 + e] += slot_sums[e * GROUP_SIZE + local + k * COMBOS];
        }
        barrier();
    }
#endif
    if (slot > 0 || part >= LAUNCH_0) return;
    for (int k = 0; k < KW * 4; ++k) {
        int at = ((part * KH + r) * KW + k / 4) * CHANNELS * FILTERS + (c + k % 4) * FILTERS + o;
        for (int e = 0; e < 4; ++e) scratch[at + e] = sums[k][e];
    }
}
