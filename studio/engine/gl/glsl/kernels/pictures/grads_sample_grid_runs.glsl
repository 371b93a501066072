// gradient of sample_grid by x, places sorted by their first cell: a cell takes dy by its weight from the runs of the
// cells up to one before it, by chunks where a run has whole ones.
#include "sampled_runs.glsl"
float kernel(int e) {
    int at[DX_RANK];
    dx_coords(e, at);
    LongSum sum = LongSum(0.0, 0.0);
    for (int h = 0; h < SIDES; ++h) {
        for (int w = 0; w < SIDES; ++w) {
            int key = (at[0] * (HEIGHT + 1) + at[1] + 1 - h) * (WIDTH + 1) + at[2] + 1 - w;
            int j = scratch[RUN_FIRST + key];
            while (j >= 0 && j < LAUNCH_0 && key_in_order(j) == key) {
                if (j % CHUNK == 0 && has_one_key(j / CHUNK)) {
                    sum = plus(sum, intBitsToFloat(scratch[sums_of(j / CHUNK, h, w) + at[3]]));
                    j += CHUNK;
                } else {
                    sum = with_place(sum, place_in_order(j), h, w, at[3]);
                    ++j;
                }
            }
        }
    }
    return whole(sum);
}
