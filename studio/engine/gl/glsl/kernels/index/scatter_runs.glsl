// scatter, indices sorted: y[key, r] = x[key, r] JOIN the entries e[k, r] of the run of that key.
#include "joined_runs.glsl"
Y_T kernel(int n) {
    return VALUE(joined_run(JOIN(BEGIN, x_at(n)), n / INNER, 0, n % INNER));
}
