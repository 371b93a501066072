// What normalises a channel: `center` and `spread` are bound to the batch's mean and 1 / deviation, or
// to the running mean and variance where the instruction is frozen.

float inverse_deviation(int c) {
#if FROZEN
    return 1.0 / sqrt(spread_at(c) + eps);
#else
    return spread_at(c);
#endif
}

// The same for four channels from c on.
vec4 inverse4_deviation(int c) {
#if FROZEN
    return 1.0 / sqrt(spread_load4(spread_cell_at(c)) + eps);
#else
    return spread_load4(spread_cell_at(c));
#endif
}

vec4 scale4_of(int c) {
#if HAS_GAMMA
    return gamma_load4(gamma_cell_at(c)) * inverse4_deviation(c);
#else
    return inverse4_deviation(c);
#endif
}

float scale_of(int c) {
#if HAS_GAMMA
    return gamma_at(c) * inverse_deviation(c);
#else
    return inverse_deviation(c);
#endif
}
