// cumulate: y[o, p, r] = x[o, 0, r] JOIN ... JOIN x[o, p, r] over lines of LENGTH elements, INNER apart;
// TURNED goes from the end. One invocation a line, or a chunk of it behind what scratch says.
#include "long_sum.glsl"
#define CHUNKS ((LENGTH + CHUNK - 1) / CHUNK)
void main() {
    int line = THREAD / CHUNKS, chunk = THREAD % CHUNKS;
    if (line >= Y_NUMEL / LENGTH) return;
    int first = line / INNER * LENGTH * INNER + line % INNER;
    RUN run = BEGIN;
#if CHUNKS > 1
    run = JOIN(run, scratch[THREAD]);
#endif
    for (int j = chunk * CHUNK; j < min((chunk + 1) * CHUNK, LENGTH); ++j) {
        int n = first + (TURNED == 1 ? LENGTH - 1 - j : j) * INNER;
        RUN next = JOIN(run, x_at(n));
#if LEAVES_OUT
        store_y_at(n, VALUE(run));
#else
        store_y_at(n, VALUE(next));
#endif
        run = next;
    }
}
