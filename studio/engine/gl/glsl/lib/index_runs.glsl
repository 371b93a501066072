// Indices sorted by key: where the run of each key begins, and what chunks of one key come to.
// LAUNCH_0 indices, LAUNCH_1 keys; the places are in the list SORTED.
#include "long_sum.glsl"
#include "sorted_places.glsl"
#define RUN_FIRST SORT_END
#define RUN_SUMS (SORT_END + LAUNCH_1)
#define CHUNKS ((LAUNCH_0 + CHUNK - 1) / CHUNK)

int place_in_order(int j) { return scratch[SORTED * LAUNCH_0 + j]; }
int key_in_order(int j) { return scratch[place_in_order(j)]; }

float as_stored(int bits, float kind) { return intBitsToFloat(bits); }
int as_stored(int bits, int kind) { return bits; }
int to_store(float value) { return floatBitsToInt(value); }
int to_store(int value) { return value; }

// Whether a chunk is whole and has one key only.
bool has_one_key(int chunk) {
    int j = chunk * CHUNK;
    return j + CHUNK <= LAUNCH_0 && key_in_order(j) == key_in_order(j + CHUNK - 1);
}
