// 1 / deviation of a channel from `spread`: what is kept of the batch's statistics is just that; where the
// instruction is frozen, `spread` is the running variance.
#ifdef SPREAD_NUMEL
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

// A sum over a channel divided by the deviation, where that is bound.
float divided(float sum, int c) { return sum * inverse_deviation(c); }
#else
float divided(float sum, int c) { return sum; }
#endif
