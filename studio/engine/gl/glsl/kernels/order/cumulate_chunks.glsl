// cumulate_chunks: what each chunk of a line comes to, into scratch.
#include "long_sum.glsl"
#define CHUNKS ((LENGTH + CHUNK - 1) / CHUNK)
void main() {
    int line = THREAD / CHUNKS, chunk = THREAD % CHUNKS;
    if (line >= X_NUMEL / LENGTH) return;
    int first = line / INNER * LENGTH * INNER + line % INNER;
    RUN run = BEGIN;
    for (int j = chunk * CHUNK; j < min((chunk + 1) * CHUNK, LENGTH); ++j) {
        run = JOIN(run, x_at(first + (TURNED == 1 ? LENGTH - 1 - j : j) * INNER));
    }
    scratch[THREAD] = VALUE(run);
}
