// What normalises a channel: `center` and `spread` are bound to the batch's mean and 1 / deviation, or
// to the running mean and variance where the instruction is frozen.
#include "deviation.glsl"

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
