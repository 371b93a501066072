// What normalises a channel: `center` and `spread` are bound to the batch's mean and 1 / deviation, or
// to the running mean and variance where the instruction is frozen.

float inverse_deviation(int c) {
#if FROZEN
    return 1.0 / sqrt(spread_at(c) + eps);
#else
    return spread_at(c);
#endif
}

float scale_of(int c) {
#if HAS_GAMMA
    return gamma_at(c) * inverse_deviation(c);
#else
    return inverse_deviation(c);
#endif
}
