// gather_batch_wide: y[n] = data[order[(cursor + n) mod D]] over samples of INNER elements; an invocation
// copies EACH pieces of one element, or of four with FOUR, and reads all before it stores the first.
#pragma optionNV(unroll all)
#define PIECE (FOUR == 1 ? 4 : 1)

void main() {
    int first = GROUP * GROUP_SIZE * EACH + int(gl_LocalInvocationIndex), pieces = Y_NUMEL / PIECE;
    int places[EACH];
    for (int e = 0; e < EACH; ++e) {
        int i = min(first + e * GROUP_SIZE, pieces - 1) * PIECE;
        places[e] = order((step_word(2) + i / INNER) % ORDER_NUMEL) * INNER + i % INNER;
    }
#if FOUR
    vec4 values[EACH];
    for (int e = 0; e < EACH; ++e) values[e] = data_load4(data_cell_at(places[e]));
#else
    Y_T values[EACH];
    for (int e = 0; e < EACH; ++e) values[e] = data_at(places[e]);
#endif
    for (int e = 0; e < EACH; ++e) {
        int i = first + e * GROUP_SIZE;
        if (i >= pieces) break;
#if FOUR
        store_y4_at(i * PIECE, values[e]);
#else
        store_y_at(i, values[e]);
#endif
    }
}
