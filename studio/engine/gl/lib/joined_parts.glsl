// Joins what batchnorm_columns or grads_batchnorm_columns left of all COLS columns, in every work group
// for itself and in the same order everywhere: column_pairs[c] = join of the pairs in
// scratch[0][part][c] and scratch[1][part][c] over LAUNCH_0 parts. A kernel says what a pair stands for
// (a vec3: pairs with a weight) and how two are joined. JOIN_LANES, a power of two, invocations share a
// column where there are fewer columns than invocations. All invocations must call join_parts().

#pragma optionNV(unroll all)

vec3 part_state(int part, float first, float second);
vec3 joined(vec3 a, vec3 b);

shared vec3 lane_states[GROUP_SIZE];
shared vec2 column_pairs[COLS];

// Four parts are read before the first is joined, so that their latencies overlap.
vec3 states_of(int c, int lane, int lanes) {
    vec3 state = vec3(0.0);
    for (int part = lane; part < LAUNCH_0; part += 4 * lanes) {
        vec2 pairs[4];
        for (int k = 0; k < 4; ++k) {
            int at = min(part + k * lanes, LAUNCH_0 - 1) * COLS + c;
            pairs[k] = vec2(scratch[at], scratch[LAUNCH_0 * COLS + at]);
        }
        for (int k = 0; k < 4; ++k) {
            int own = part + k * lanes;
            if (own < LAUNCH_0) state = joined(state, part_state(own, pairs[k].x, pairs[k].y));
        }
    }
    return state;
}

void join_parts() {
    int local = int(gl_LocalInvocationIndex);
#if JOIN_LANES == 1
    for (int c = local; c < COLS; c += GROUP_SIZE) column_pairs[c] = states_of(c, 0, 1).yz;
#else
    int lane = local / COLS;
    if (lane < JOIN_LANES) lane_states[local] = states_of(local % COLS, lane, JOIN_LANES);
    barrier();
    for (int reach = JOIN_LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_states[local] = joined(lane_states[local], lane_states[local + reach * COLS]);
        barrier();
    }
    if (local < COLS) column_pairs[local] = lane_states[local].yz;
#endif
    barrier();
}

vec4 first_of_pairs(int c) {
    return vec4(column_pairs[c].x, column_pairs[c + 1].x, column_pairs[c + 2].x, column_pairs[c + 3].x);
}

vec4 second_of_pairs(int c) {
    return vec4(column_pairs[c].y, column_pairs[c + 1].y, column_pairs[c + 2].y, column_pairs[c + 3].y);
}
