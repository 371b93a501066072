// sample_keys: the first cell of every place, counted from one before the image; KEYS for a place that weighs none.
// And no key has a run of places yet.
#include "sampled.glsl"
#include "sorted_places.glsl"
#define COUNT LAUNCH_0
#define KEYS LAUNCH_1
void main() {
    int k = THREAD;
    if (k < COUNT) {
        Taps across = taps_of(grid_at(2 * k), WIDTH);
        Taps down = taps_of(grid_at(2 * k + 1), HEIGHT);
        int h = down.first + 1, w = across.first + 1;
        bool inside = down.there && across.there && h >= 0 && h <= HEIGHT && w >= 0 && w <= WIDTH;
        scratch[k] = inside ? (k / PLACES * (HEIGHT + 1) + h) * (WIDTH + 1) + w : KEYS;
        scratch[COUNT + k] = k;
    }
    if (k < KEYS) scratch[SORT_END + k] = -1;
}
