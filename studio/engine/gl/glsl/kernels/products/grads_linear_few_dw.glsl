// grads_linear_few_dw: dw[o, i] = sum over rows m of dy[m, o] x[m, i] and db[o] = sum of dy[m, o] for few o. A
// work group has QUADS neighbouring fours of columns of dw and all outputs, four of which an invocation
// has; LANES invocations share the rows. The first work group has db, too.
#pragma optionNV(unroll all)
#define FOURS (COVER / 4)
#define LANES (GROUP_SIZE / (QUADS * FOURS))
// Rows an invocation reads before it multiplies the first, so that their latencies overlap.
#define EACH 8
#define CHUNK (EACH * LANES)
#define STAGED (CHUNK * FOURS / GROUP_SIZE)
#define RESULTS (COVER * QUADS)
#define JOINED 4

// Rows of dy while sums are made, [row][four]; then the sums, [lane][output][quad].
shared vec4 few_pool[GROUP_SIZE * 4];
shared vec4 few_bias[LANES * FOURS];

vec4 staged[STAGED];
vec4 held[EACH];

#if WANT_DW
vec4 inputs_at(int m, int k) {
#if FOUR_X
    return x_load4(x_cell_at(m * IN + min(k, IN - 4)));
#else
    vec4 found = vec4(0.0);
    for (int e = 0; e < 4; ++e) if (k + e < IN) found[e] = x_at(m * IN + k + e);
    return found;
#endif
}
#endif

// Rows from `first` on; those past the end repeat the last one.
void fetch(int first, int rows, int lane, int column) {
    for (int t = 0; t < STAGED; ++t) {
        int unit = t * GROUP_SIZE + int(gl_LocalInvocationIndex);
        int m = min(first + unit / FOURS, rows - 1), o = unit % FOURS * 4;
        for (int e = 0; e < 4; ++e) staged[t][e] = dy_at(m * OUT + min(o + e, OUT - 1));
    }
#if WANT_DW
    for (int e = 0; e < EACH; ++e) held[e] = inputs_at(min(first + e * LANES + lane, rows - 1), column);
#endif
}

#if WANT_DW
void store_weights(int block) {
    int r = int(gl_LocalInvocationIndex) % RESULTS, part = int(gl_LocalInvocationIndex) / RESULTS;
    vec4 total = vec4(0.0);
    for (int l = 0; l < JOINED; ++l) total += few_pool[(part * JOINED + l) * RESULTS + r];
    few_pool[part * JOINED * RESULTS + r] = total;
    barrier();
    int o = r / QUADS, i = (block * QUADS + r % QUADS) * 4;
    if (part > 0 || o >= OUT || i >= IN) return;
    for (int p = 1; p < GROUP_SIZE / RESULTS; ++p) total += few_pool[p * JOINED * RESULTS + r];
#if FOUR_DW
    store_dw4(o, i, total);
#else
    for (int e = 0; e < 4; ++e) if (i + e < IN) store_dw(o, i + e, total[e]);
#endif
}
#endif

void main() {
    int block = GROUP, local = int(gl_LocalInvocationIndex), rows = DY_NUMEL / OUT;
    int four = local % FOURS, quad = local / FOURS % QUADS, lane = local / (FOURS * QUADS);
    int column = (block * QUADS + quad) * 4;
    vec4 sums[4], bias = vec4(0.0);
    for (int j = 0; j < 4; ++j) sums[j] = vec4(0.0);
    fetch(0, rows, lane, column);
    for (int first = 0; first < rows; first += CHUNK) {
        vec4 own[EACH];
        for (int e = 0; e < EACH; ++e) own[e] = held[e];
        for (int t = 0; t < STAGED; ++t) few_pool[t * GROUP_SIZE + local] = staged[t];
        barrier();
        if (first + CHUNK < rows) fetch(first + CHUNK, rows, lane, column);
        for (int e = 0; e < EACH; ++e) {
            int m = e * LANES + lane;
            if (first + m >= rows) break;
            vec4 slopes = few_pool[m * FOURS + four];
            bias += slopes;
#if WANT_DW
            for (int j = 0; j < 4; ++j) sums[j] += slopes[j] * own[e];
#endif
        }
        barrier();
    }
    if (quad == 0) few_bias[lane * FOURS + four] = bias;
#if WANT_DW
    for (int j = 0; j < 4; ++j) few_pool[lane * RESULTS + (four * 4 + j) * QUADS + quad] = sums[j];
#endif
    barrier();
#if WANT_DB
    if (block == 0 && local < FOURS) {
        vec4 total = vec4(0.0);
        for (int l = 0; l < LANES; ++l) total += few_bias[l * FOURS + local];
        for (int e = 0; e < 4; ++e) if (local * 4 + e < OUT) store_db(local * 4 + e, total[e]);
    }
#endif
#if WANT_DW
    store_weights(block);
#endif
}
