// random_uniform: y = low + (high - low) u, rounded after each operation so that all devices agree.
#include "philox.glsl"
void main() {
    int first = THREAD * 4;
    if (first >= Y_NUMEL) return;
    uvec2 key = uvec2(step_word(5), step_word(6));
#if HAS_FIRST
    uvec4 bits = words_from(uint(first_row(0) * ENTRY + first), uint(step_word(0)), uint(stream), key);
#else
    uvec4 bits = philox(uvec4(uint(THREAD), uint(step_word(0)), uint(stream), 0u), key);
#endif
    for (int k = 0; k < 4 && first + k < Y_NUMEL; ++k) {
        precise float scaled = unit_of(bits[k]) * (high - low);
        precise float value = scaled + low;
        store_y_at(first + k, value);
    }
}
