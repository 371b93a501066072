// conv2d_few: conv2d where a window has few cells: an invocation keeps the weights of four filters and
// goes over STEPS positions.
#pragma optionNV(unroll all)
#include "window.glsl"
#include "convolved.glsl"
#include "partial_sums.glsl"
#define QUADS (FILTERS / 4)
#define POSITIONS_AT_ONCE (GROUP_SIZE / QUADS)
#define TAPS (KH * KW * CHANNELS)

void main() {
    int local = int(gl_LocalInvocationIndex), f = local % QUADS * 4;
    int first = GROUP * (POSITIONS_AT_ONCE * STEPS) + local / QUADS, count = X_D0 * OUT_H * OUT_W;
    vec4 weights[TAPS];
    for (int t = 0; t < TAPS; ++t) weights[t] = w_load4(t * FILTERS + f);
    vec4 start = vec4(0.0);
#if HAS_B
    start = b_load4(f);
#endif
    for (int k = 0; k < STEPS; ++k) {
        int p = first + k * POSITIONS_AT_ONCE;
        if (p >= count) break;
        ivec4 position = at_position(p);
        vec4 sum = start;
        for (int t = 0; t < TAPS; ++t) sum += take_left(position, at_tap(t)) * weights[t];
        store_y4_at(p * FILTERS + f, sum);
    }
    LEAVE_SUMS(GROUP, f);
}
