// index_keys: the key of every index, KEYS for one outside; and no key has a run of them yet.
#include "index_places.glsl"
#include "sorted_places.glsl"
void main() {
    int k = THREAD;
    if (k < COUNT) {
        int key = key_of(k);
        scratch[k] = key < 0 ? KEYS : key;
        scratch[COUNT + k] = k;
    }
    if (k < KEYS) scratch[SORT_END + k] = -1;
}
