// linear_few: y[m, o] = sum over k of x[m, k] w[o, k] + b[o] for few o: SLICES invocations share a sum, COVER
// (at least OUT) stand beside each other, and each has ROWS_EACH rows, so that weights are read once for them.
#pragma optionNV(unroll all)
#define STRIDE (SLICES * 4)
#define LINES (GROUP_SIZE / (SLICES * COVER))
#define SUMS (ROWS_EACH * LINES * COVER)
// Depths an invocation reads before it multiplies the first, so that their latencies overlap.
#define AHEAD (8 / ROWS_EACH)
#define ROUND (STRIDE * AHEAD)
#define WHOLE (IN / ROUND * ROUND)

// One word more than the slices, so that neighbouring sums lie in different banks.
shared float slices[SUMS * (SLICES + 1)];

vec4 weights_at(int o, int k) {
#if FOUR_W
    return w4(o, k);
#else
    vec4 found = vec4(0.0);
    for (int e = 0; e < 4; ++e) if (k + e < IN) found[e] = w(o, k + e);
    return found;
#endif
}

vec4 inputs_at(int m, int k) {
#if FOUR_X
    return x_load4(x_cell_at(m * IN + k));
#else
    vec4 found = vec4(0.0);
    for (int e = 0; e < 4; ++e) if (k + e < IN) found[e] = x_at(m * IN + k + e);
    return found;
#endif
}

void add_round(inout float sum[ROWS_EACH], int o, int first, int k, bool whole) {
    vec4 left[AHEAD * ROWS_EACH], right[AHEAD];
    int rows = X_NUMEL / IN;
    for (int a = 0; a < AHEAD; ++a) {
        int at = whole ? k + a * STRIDE : min(k + a * STRIDE, (IN - 1) / 4 * 4);
        right[a] = weights_at(o, at);
        for (int r = 0; r < ROWS_EACH; ++r) left[a * ROWS_EACH + r] = inputs_at(min(first + r, rows - 1), at);
    }
    for (int a = 0; a < AHEAD; ++a) {
        if (!whole && k + a * STRIDE >= IN) break;
        for (int r = 0; r < ROWS_EACH; ++r) sum[r] += dot(left[a * ROWS_EACH + r], right[a]);
    }
}

void main() {
    int local = int(gl_LocalInvocationIndex), rows = X_NUMEL / IN;
    int slice = local % SLICES, o = min(local / SLICES % COVER, OUT - 1), line = local / (SLICES * COVER);
    int first = (GROUP * LINES + line) * ROWS_EACH;
    float sum[ROWS_EACH];
    for (int r = 0; r < ROWS_EACH; ++r) sum[r] = 0.0;
    for (int k = 0; k < WHOLE; k += ROUND) add_round(sum, o, first, k + slice * 4, true);
#if WHOLE < IN
    add_round(sum, o, first, WHOLE + slice * 4, false);
#endif
    for (int r = 0; r < ROWS_EACH; ++r) {
        slices[(r * LINES * COVER + local / SLICES) * (SLICES + 1) + slice] = sum[r];
    }
    barrier();
    for (int s = local; s < SUMS; s += GROUP_SIZE) {
        int column = s % COVER, r = s / (LINES * COVER);
        int m = (GROUP * LINES + s / COVER % LINES) * ROWS_EACH + r;
        float total = 0.0;
        for (int k = 0; k < SLICES; ++k) total += slices[s * (SLICES + 1) + k];
        if (column >= OUT || m >= rows) continue;
#if HAS_B
        total += b(column);
#endif
        store_y_at(m * OUT + column, total);
    }
}
