// grads_conv2d_few: dw and db where a window has few cells: an invocation has four filters and every
// TAPS-th sum over its share of the positions, so that dy is read once. Sums of a work group's
// invocations are joined in shared memory; scratch[part][tap][filter], with db behind the last tap.
// LAUNCH_0 parts of LAUNCH_1 positions each; GROUP_SIZE is a multiple of FILTERS / 4.
#pragma optionNV(unroll all)
#include "window.glsl"
#include "convolved.glsl"
#define QUADS (FILTERS / 4)
#define POSITIONS_AT_ONCE (GROUP_SIZE / QUADS)
#define TAPS (KH * KW * CHANNELS)
#define SUMS (TAPS + HAS_DB)
#define TOGETHER 4

shared vec4 joined[TOGETHER * GROUP_SIZE];

vec4 sums[(SUMS + TOGETHER - 1) / TOGETHER * TOGETHER];

void main() {
    int part = GROUP;
    if (part >= LAUNCH_0) return;
    int local = int(gl_LocalInvocationIndex), f = local % QUADS * 4, lane = local / QUADS;
    for (int s = 0; s < sums.length(); ++s) sums[s] = vec4(0.0);
    int last = min(X_D0 * OUT_H * OUT_W, (part + 1) * LAUNCH_1);
    for (int p = part * LAUNCH_1 + lane; p < last; p += POSITIONS_AT_ONCE) {
        vec4 g = dy_load4(dy_cell_at(p * FILTERS + f));
        ivec4 position = at_position(p);
        for (int t = 0; t < TAPS; ++t) sums[t] += take_left(position, at_tap(t)) * g;
#if HAS_DB
        sums[TAPS] += g;
#endif
    }
    for (int first = 0; first < SUMS; first += TOGETHER) {
        for (int s = 0; s < TOGETHER; ++s) joined[s * GROUP_SIZE + local] = sums[first + s];
        barrier();
        for (int reach = POSITIONS_AT_ONCE / 2; reach > 0; reach /= 2) {
            if (lane < reach) {
                for (int s = 0; s < TOGETHER; ++s) {
                    joined[s * GROUP_SIZE + local] += joined[s * GROUP_SIZE + local + reach * QUADS];
                }
            }
            barrier();
        }
        for (int s = lane; s < TOGETHER; s += POSITIONS_AT_ONCE) {
            if (first + s >= SUMS) break;
            int at = (part * SUMS + first + s) * FILTERS + f;
            vec4 sum = joined[s * GROUP_SIZE + local % QUADS];
            for (int k = 0; k < 4; ++k) scratch[at + k] = sum[k];
        }
        barrier();
    }
}
