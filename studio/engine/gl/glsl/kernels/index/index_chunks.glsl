// index_chunks: what the entries e of a chunk come to, in order, where all have one key.
#include "index_runs.glsl"
void main() {
    int t = THREAD;
    int r = t % INNER, chunk = t / INNER % CHUNKS, o = t / INNER / CHUNKS;
    if (o >= E_NUMEL / INNER / LAUNCH_0 || !has_one_key(chunk)) return;
    RUN run = BEGIN;
    for (int j = chunk * CHUNK; j < (chunk + 1) * CHUNK; ++j) {
        run = JOIN(run, e_at((o * LAUNCH_0 + place_in_order(j)) * INNER + r));
    }
    scratch[RUN_SUMS + (o * CHUNKS + chunk) * INNER + r] = to_store(VALUE(run));
}
