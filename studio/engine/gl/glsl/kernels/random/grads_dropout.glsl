// gradient of dropout: dx = dy / (1 - rate) where u >= rate, else 0, with u drawn again.
#include "philox.glsl"
void main() {
    int first = THREAD * 4;
    if (first >= DX_NUMEL) return;
#if DRAWS
    uvec2 key = uvec2(step_word(5), step_word(6));
#if HAS_FIRST
    uvec4 bits = words_from(uint(first_row(0) * ENTRY + first), uint(step_word(0)), uint(stream), key);
#else
    uvec4 bits = philox(uvec4(uint(THREAD), uint(step_word(0)), uint(stream), 0u), key);
#endif
    for (int k = 0; k < 4 && first + k < DX_NUMEL; ++k) {
        float kept = dy_at(first + k) * (1.0 / (1.0 - rate));
        store_dx_at(first + k, unit_of(bits[k]) >= rate ? kept : 0.0);
    }
#else
    for (int k = 0; k < 4 && first + k < DX_NUMEL; ++k) store_dx_at(first + k, dy_at(first + k));
#endif
}
