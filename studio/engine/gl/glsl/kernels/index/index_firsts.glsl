// index_firsts: where the run of a key begins.
#include "index_runs.glsl"
void main() {
    int j = THREAD;
    if (j >= LAUNCH_0) return;
    int key = key_in_order(j);
    if (key < LAUNCH_1 && (j == 0 || key_in_order(j - 1) != key)) scratch[RUN_FIRST + key] = j;
}
