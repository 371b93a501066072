// grads_depthwise_conv2d_dw: sum of x[n, i sh + r dh - ph, j sw + s dw - pw, c] dy[n,i,j,c M+m] over the
// positions part, part + LAUNCH_0, ...; into scratch[part][r,s,c,m].
#include "window.glsl"
void main() {
    int parts = LAUNCH_0, taps = KH * KW * FILTERS, positions = X_D0 * (OUT_H * OUT_W);
    if (THREAD >= parts * taps) return;
    int k = THREAD % taps, o = k % FILTERS;
    ivec3 tap = tap_of(k, FILTERS);
    float sum = 0.0;
    for (int p = THREAD / taps; p < positions; p += parts) {
        ivec3 at = window_of(p);
        int h = at.x + tap.x, w = at.y + tap.y;
        if (HALO == 0 && !inside(h, w)) continue;
        int cell = x_cell(at.z, 0, 0, o / MULTIPLIER) + h * X_S1 + w * X_S2;
        sum += x_load(cell) * dy_at(p * FILTERS + o);
    }
    scratch[THREAD] = sum;
}
