// cumulate: y[o, p, r] = x[o, 0, r] JOIN ... JOIN x[o, p, r] over lines of LENGTH elements, INNER apart;
// TURNED goes from the end. One invocation a line.
#include "long_sum.glsl"
void main() {
    int line = THREAD;
    if (line >= Y_NUMEL / LENGTH) return;
    int first = line / INNER * LENGTH * INNER + line % INNER;
    RUN run = BEGIN;
    for (int j = 0; j < LENGTH; ++j) {
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
