// What all entries e of a key come to, behind what there is before: by chunks where a run has whole ones.
#include "index_runs.glsl"
RUN joined_run(RUN run, int key, int o, int r) {
    int j = scratch[RUN_FIRST + key];
    if (j < 0) return run;
    while (j < LAUNCH_0 && key_in_order(j) == key) {
        if (j % CHUNK == 0 && has_one_key(j / CHUNK)) {
            int stored = scratch[RUN_SUMS + (o * CHUNKS + j / CHUNK) * INNER + r];
            run = JOIN(run, as_stored(stored, E_T(0)));
            j += CHUNK;
        } else {
            run = JOIN(run, e_at((o * LAUNCH_0 + place_in_order(j)) * INNER + r));
            ++j;
        }
    }
    return run;
}
