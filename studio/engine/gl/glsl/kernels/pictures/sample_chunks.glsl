// sample_chunks: what the places of a chunk give each cell they weigh, in order, where all have one first cell.
#include "sampled_runs.glsl"
void main() {
    int t = THREAD;
    int c = t % CHANNELS, w = t / CHANNELS % SIDES, h = t / CHANNELS / SIDES % SIDES;
    int chunk = t / CHANNELS / SIDES / SIDES;
    if (chunk >= CHUNKS || !has_one_key(chunk) || key_in_order(chunk * CHUNK) >= LAUNCH_1) return;
    LongSum sum = LongSum(0.0, 0.0);
    for (int j = chunk * CHUNK; j < (chunk + 1) * CHUNK; ++j) {
        sum = with_place(sum, place_in_order(j), h, w, c);
    }
    scratch[sums_of(chunk, h, w) + c] = floatBitsToInt(whole(sum));
}
