// Places sorted by their first cell: what each brings to one of the SIDES by SIDES cells it weighs.
#include "index_runs.glsl"
#include "sampled.glsl"

// The sum, and what place k gives channel c of the cell h rows and w columns behind its first.
LongSum with_place(LongSum sum, int k, int h, int w, int c) {
    float weight = tap_weight(taps_of(grid_at(2 * k + 1), HEIGHT), h, HEIGHT)
                 * tap_weight(taps_of(grid_at(2 * k), WIDTH), w, WIDTH);
    return weight == 0.0 ? sum : plus(sum, weight * dy_at(k * CHANNELS + c));
}

// Where the sums of a chunk are, for all channels of one of those cells.
int sums_of(int chunk, int h, int w) {
    return RUN_SUMS + ((chunk * SIDES + h) * SIDES + w) * CHANNELS;
}
