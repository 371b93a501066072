// grads_depthwise_conv2d_dx: dx[n,h,w,c] = sum over r, s, m of w[r,s,c,m]
// dy[n, (h + ph - r dh) / sh, (w + pw - s dw) / sw, c M+m], where the divisions leave no rest; WIDTH
// neighbouring channels an invocation (4 only where M is 1).
#include "window.glsl"
#if WIDTH == 4
#define NUMBERS vec4
vec4 read_dy(int cell) { return dy_load4(cell); }
vec4 read_w(int cell) { return w_load4(cell); }
#else
#define NUMBERS float
float read_dy(int cell) { return dy_load(cell); }
float read_w(int cell) { return w_load(cell); }
#endif

void main() {
    int e = THREAD * WIDTH;
    if (e >= DX_NUMEL) return;
    int c = e % CHANNELS, p = e / CHANNELS;
    int x_col = p % IN_W + pad_w, x_row = p / IN_W % IN_H + pad_h;
    int cell = dy_cell(p / (IN_W * IN_H), 0, 0, c * MULTIPLIER);
    NUMBERS sum = NUMBERS(0.0);
    for (int r = 0; r < KH; ++r) {
        int i = x_row - r * dil_h;
        if (i < 0 || i % stride_h != 0 || i / stride_h >= OUT_H) continue;
        for (int s = 0; s < KW; ++s) {
            int j = x_col - s * dil_w;
            if (j < 0 || j % stride_w != 0 || j / stride_w >= OUT_W) continue;
            int from = cell + i / stride_h * DY_S1 + j / stride_w * DY_S2;
            int tap = (r * KW + s) * FILTERS + c * MULTIPLIER;
            for (int m = 0; m < MULTIPLIER; ++m) sum += read_dy(from + m) * read_w(tap + m);
        }
    }
#if WIDTH == 4
    store_dx4_at(e, sum);
#else
    store_dx_at(e, sum);
#endif
}
