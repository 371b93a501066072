// grads_conv2d_dw_direct: dw[r,s,c,o] = sum over n, i, j of x[n, i sh + r - ph, j sw + s - pw, c] dy[n,i,j,o]
// without a product. A work group takes tiles of TILE_ROWS x SPAN positions, and what of x and of QUADS * 4
// filters' dy they touch, into shared memory; an invocation has one r, all s, four channels and four
// filters, and goes over rows of NEIGHBOURS positions. COMBOS invocations make QUADS * 4 filters of dw,
// SLOTS of them share a work group. scratch[part][r,s,c,o] over LAUNCH_0 parts; groups go over blocks of
// filters first.
#pragma optionNV(unroll all)
#define CHANNEL_QUADS (CHANNELS / 4)
#define COMBOS (KH * CHANNEL_QUADS * QUADS)
#define BLOCKS (FILTERS / 4 / QUADS)
#define SPANS (OUT_W / SPAN)
#define LINES ((OUT_H + TILE_ROWS - 1) / TILE_ROWS)
#define STEPS (SPAN / NEIGHBOURS)
#define X_ROWS ((TILE_ROWS - 1) * STRIDE_H + KH)
#define X_ROW (((SPAN - 1) * STRIDE_W + KW) * CHANNEL_QUADS)
#define X_SHARE ((X_ROW + GROUP_SIZE - 1) / GROUP_SIZE)
#define X_CELLS (X_ROWS * X_ROW)
#define DY_ROW (SPAN * QUADS)
#define DY_SHARE ((DY_ROW + GROUP_SIZE - 1) / GROUP_SIZE)
#define CELLS (X_CELLS + TILE_ROWS * DY_ROW)
#define REACH ((NEIGHBOURS - 1) * STRIDE_W + KW)
#define JOINING (SLOTS > 1 ? 4 * GROUP_SIZE : 0)

shared vec4 cells[CELLS > JOINING ? CELLS : JOINING];

// Everything is read before the first of it is kept, so that latencies overlap.
void take(int tile, int block) {
    int local = int(gl_LocalInvocationIndex);
    int j = tile % SPANS * SPAN, line = tile / SPANS;
    int i = line % LINES * TILE_ROWS, n = line / LINES;
    vec4 inputs[X_ROWS * X_SHARE], slopes[TILE_ROWS * DY_SHARE];
    for (int a = 0; a < X_SHARE; ++a) {
        int k = local + a * GROUP_SIZE, w = j * STRIDE_W - pad_w + k / CHANNEL_QUADS;
        for (int r = 0; r < X_ROWS; ++r) {
            // Negative indices are large unsigned ones.
            int h = i * STRIDE_H - pad_h + r;
            bool there = k < X_ROW && uint(h) < uint(IN_H) && uint(w) < uint(IN_W);
            vec4 value = x_load4(there ? x_cell(n, h, w, k % CHANNEL_QUADS * 4) : 0);
            inputs[a * X_ROWS + r] = there ? value : vec4(0.0);
        }
    }
    for (int a = 0; a < DY_SHARE; ++a) {
        int k = local + a * GROUP_SIZE, o = (block + k % QUADS) * 4;
        for (int r = 0; r < TILE_ROWS; ++r) {
            bool there = k < DY_ROW && i + r < OUT_H;
            slopes[a * TILE_ROWS + r] = dy_load4(there ? dy_cell(n, i + r, j + k / QUADS, o) : 0);
        }
    }
    for (int a = 0; a < X_SHARE; ++a) {
        int k = local + a * GROUP_SIZE;
        for (int r = 0; r < X_ROWS; ++r) {
            if (k < X_ROW) cells[r * X_ROW + k] = inputs[a * X_ROWS + r];
        }
    }
    for (int a = 0; a < DY_SHARE; ++a) {
        int k = local + a * GROUP_SIZE;
        for (int r = 0; r < TILE_ROWS; ++r) {
            if (k < DY_ROW) cells[X_CELLS + r * DY_ROW + k] = slopes[a * TILE_ROWS + r];
        }
    }
}

void main() {
    int local = int(gl_LocalInvocationIndex), combo = local % COMBOS, slot = local / COMBOS;
    int q = combo % QUADS, c = combo / QUADS % CHANNEL_QUADS, r = combo / QUADS / CHANNEL_QUADS;
    int part = GROUP / BLOCKS, block = GROUP % BLOCKS * QUADS;
    vec4 sums[KW * 4];
    for (int k = 0; k < KW * 4; ++k) sums[k] = vec4(0.0);
    for (int tile = part; tile < X_D0 * LINES * SPANS; tile += LAUNCH_0) {
        barrier();
        take(tile, block);
        barrier();
        int rows = min(OUT_H - tile / SPANS % LINES * TILE_ROWS, TILE_ROWS);
        for (int step = slot; step < rows * STEPS; step += SLOTS) {
            int line = step / STEPS, p = step % STEPS * NEIGHBOURS;
            int x = (line * STRIDE_H + r) * X_ROW + p * STRIDE_W * CHANNEL_QUADS + c;
            int dy = X_CELLS + line * DY_ROW + p * QUADS + q;
            vec4 window[REACH];
            for (int k = 0; k < REACH; ++k) window[k] = cells[x + k * CHANNEL_QUADS];
            for (int e = 0; e < NEIGHBOURS; ++e) {
                vec4 slope = cells[dy + e * QUADS];
                for (int k = 0; k < KW * 4; ++k) sums[k] += window[e * STRIDE_W + k / 4][k % 4] * slope;
            }
        }
    }
#if SLOTS > 1
    for (int s = 0; s < KW; ++s) {
        barrier();
        for (int e = 0; e < 4; ++e) cells[e * GROUP_SIZE + local] = sums[s * 4 + e];
        barrier();
        for (int e = 0; e < 4; ++e) {
            if (slot > 0) continue;
            for (int k = 1; k < SLOTS; ++k) sums[s * 4 + e] += cells[e * GROUP_SIZE + local + k * COMBOS];
        }
    }
#endif
    if (slot > 0 || part >= LAUNCH_0) return;
    for (int k = 0; k < KW * 4; ++k) {
        int tap = (part * KH + r) * KW + k / 4;
        scratch[(tap * CHANNELS + c * 4 + k % 4) * (FILTERS / 4) + block + q] = sums[k];
    }
}
