// depthwise_conv2d: y[n,i,j,c M+m] = b[c M+m] + sum over r, s of x[n, i sh + r dh - ph, j sw + s dw - pw, c]
// w[r,s,c,m]; WIDTH neighbouring results an invocation (4 only where M is 1).
#include "window.glsl"
#if WIDTH == 4
#define NUMBERS vec4
vec4 read_x(int cell) { return x_load4(cell); }
vec4 read_w(int cell) { return w_load4(cell); }
#else
#define NUMBERS float
float read_x(int cell) { return x_load(cell); }
float read_w(int cell) { return w_load(cell); }
#endif

void main() {
    int e = THREAD * WIDTH;
    if (e >= X_D0 * (OUT_H * OUT_W * FILTERS)) return;
    int o = e % FILTERS;
    ivec3 at = window_of(e / FILTERS);
    int cell = x_cell(at.z, 0, 0, o / MULTIPLIER);
    NUMBERS sum = NUMBERS(0.0);
    for (int r = 0; r < KH; ++r) {
        for (int s = 0; s < KW; ++s) {
            int h = at.x + r * dil_h, w = at.y + s * dil_w;
            if (HALO == 0 && !inside(h, w)) continue;
            sum += read_x(cell + h * X_S1 + w * X_S2) * read_w((r * KW + s) * FILTERS + o);
        }
    }
#if HAS_B && WIDTH == 4
    sum += b_load4(o);
#elif HAS_B
    sum += b_load(o);
#endif
#if WIDTH == 4
    store_y4_at(e, sum);
#else
    store_y_at(e, sum);
#endif
}
