// linear_few: y[m, o] = sum over k of x[m, k] w[o, k] + b[o] for few o: SLICES invocations share a sum, COVER
// (at least OUT) stand beside each other, and each has ROWS_EACH rows, so that weights are read once for them.
// With ROW_LOSS the loss of its rows is taken along, with ROW_DX the gradient of x as well.
#include "row_loss.glsl"
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

// The row of a sum; of the sums of an invocation, COVER stand side by side.
int row_of(int s) { return (GROUP * LINES + s / COVER % LINES) * ROWS_EACH + s / (LINES * COVER); }

#if ROW_DX
// dx[m, i] = sum over o of the slopes of row m times w[o, i], by fours of columns.
void take_slopes(int rows) {
    int fours = (IN + 3) / 4;
    for (int unit = int(gl_LocalInvocationIndex); unit < LINES * ROWS_EACH * fours; unit += GROUP_SIZE) {
        int i = unit % fours * 4, line = unit / fours / ROWS_EACH, r = unit / fours % ROWS_EACH;
        int m = (GROUP * LINES + line) * ROWS_EACH + r;
        if (m >= rows) continue;
        vec4 total = vec4(0.0);
        for (int o = 0; o < OUT; ++o) total += row_slopes[(r * LINES + line) * COVER + o] * weights_at(o, i);
#if FOUR_ROW_DX
        store_row_dx4_at(m * IN + i, total);
#else
        for (int e = 0; e < 4; ++e) if (i + e < IN) store_row_dx_at(m * IN + i + e, total[e]);
#endif
    }
}
#endif

void main() {
    int local = int(gl_LocalInvocationIndex), rows = X_NUMEL / IN;
    int slice = local % SLICES, o = min(local / SLICES % COVER, OUT - 1), line = local / (SLICES * COVER);
    int first = (GROUP * LINES + line) * ROWS_EACH;
#if ROW_LOSS
    if (local < SUMS) fetch_target(min(row_of(local), rows - 1), min(local % COVER, OUT - 1));
#endif
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
    // There are fewer sums than invocations.
    int column = local % COVER, m = row_of(local);
    bool whole = local < SUMS && column < OUT && m < rows;
    if (whole) {
        float total = 0.0;
        for (int k = 0; k < SLICES; ++k) total += slices[local * (SLICES + 1) + k];
#if HAS_B
        total += b(column);
#endif
        store_y_at(m * OUT + column, total);
#if ROW_LOSS
        keep_value(local, total);
#endif
    }
#if ROW_LOSS
    barrier();
    if (whole) take_loss(m, column, local - column);
#endif
#if ROW_DX
    barrier();
    take_slopes(rows);
#endif
}
