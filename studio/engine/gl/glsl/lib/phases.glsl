// The phases of a strided convolution's input: pixels STRIDE_H by STRIDE_W apart, which meet the same taps.
// Every phase is a product of its own, the batch of which is its number. DOWN and ACROSS say of each
// phase of an axis: first pixel, position it meets through the first tap, first tap, how many taps.
// Taps of a phase are DOWN_TAP and ACROSS_TAP apart, positions met through them DOWN_REACH and
// ACROSS_REACH; TAPS_DOWN is the most taps of an axis. Needs product.glsl with PHASED.
#ifdef PHASED
#define GRID_H ((IN_H + STRIDE_H - 1) / STRIDE_H)
#define GRID_W ((IN_W + STRIDE_W - 1) / STRIDE_W)

const ivec4 phases_down[STRIDE_H] = DOWN, phases_across[STRIDE_W] = ACROSS;

// Those of the phase this invocation works on.
ivec4 down, across;

// Also called by invocations behind the last phase, which then leave.
void begin_phase() {
    int phase = min(product_batch, STRIDE_H * STRIDE_W - 1);
    down = phases_down[phase / STRIDE_W];
    across = phases_across[phase % STRIDE_W];
}

int product_batches() { return STRIDE_H * STRIDE_W; }
int product_rows() { return DY_D0 * GRID_H * GRID_W; }
int product_depth() { return down.w * across.w * FILTERS; }

// What pixel p of the phase meets through the first tap: row and column of dy, entry of the batch.
ivec3 met_by(int p) {
    return ivec3(p / GRID_W % GRID_H + down.y, p % GRID_W + across.y, p / GRID_W / GRID_H);
}

// Which tap of the phase, downwards and across, and which filter a depth index is.
ivec3 tap_met(int k) {
    int tap = k / FILTERS, r = 0;
    for (int more = 1; more < TAPS_DOWN; ++more) r += int(tap >= more * across.w);
    return ivec3(r, tap - r * across.w, k % FILTERS);
}

// Where pixel p of the phase lies among all; -1 beyond the edge.
int placed_row(int p) {
    int i = p / GRID_W % GRID_H * STRIDE_H + down.x, j = p % GRID_W * STRIDE_W + across.x;
    return i < IN_H && j < IN_W ? (p / GRID_W / GRID_H * IN_H + i) * IN_W + j : -1;
}
#endif
