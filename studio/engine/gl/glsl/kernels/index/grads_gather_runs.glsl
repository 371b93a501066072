// gradient of gather, indices sorted: dx[o, key, r] = the sum of e[o, k, r] over the run of that key.
#include "joined_runs.glsl"
DX_T kernel(int n) {
    int r = n % INNER, key = n / INNER % LAUNCH_1, o = n / INNER / LAUNCH_1;
    return VALUE(joined_run(BEGIN, key, o, r));
}
