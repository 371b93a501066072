// grads_linear_few_dx: dx[m, i] = sum over o of dy[m, o] w[o, i] for few o; an invocation has four columns of
// ROWS_EACH rows.
#pragma optionNV(unroll all)
vec4 weights_at(int o, int i) {
#if FOUR_W
    return w4(o, i);
#else
    vec4 found = vec4(0.0);
    for (int e = 0; e < 4; ++e) if (i + e < IN) found[e] = w(o, i + e);
    return found;
#endif
}

void main() {
    int rows = DY_NUMEL / OUT, unit = GROUP * GROUP_SIZE + int(gl_LocalInvocationIndex);
    int i = unit % ((IN + 3) / 4) * 4, first = unit / ((IN + 3) / 4) * ROWS_EACH;
    if (first >= rows) return;
    vec4 sums[ROWS_EACH];
    for (int r = 0; r < ROWS_EACH; ++r) sums[r] = vec4(0.0);
    for (int o = 0; o < OUT; ++o) {
        vec4 weights = weights_at(o, i);
        for (int r = 0; r < ROWS_EACH; ++r) sums[r] += dy_at(min(first + r, rows - 1) * OUT + o) * weights;
    }
    for (int r = 0; r < ROWS_EACH; ++r) {
        if (first + r >= rows) break;
        int at = (first + r) * IN + i;
#if FOUR_DX
        store_dx4_at(at, sums[r]);
#else
        for (int e = 0; e < 4; ++e) if (i + e < IN) store_dx_at(at + e, sums[r][e]);
#endif
    }
}
