// gradient of sample_grid by x: every cell goes through the places of its image, in row order, and takes dy by
// its weight of those it is next to.
#include "sampled.glsl"
float kernel(int e) {
    int at[DX_RANK];
    dx_coords(e, at);
    float sum = 0.0;
    for (int i = 0; i < DY_D1; ++i) {
        for (int j = 0; j < DY_D2; ++j) {
            Taps down = taps_of(grid(at[0], i, j, 1), DX_D1);
            int h = at[1] - down.first;
            if (!down.there || h < 0 || h > 1) continue;
            Taps across = taps_of(grid(at[0], i, j, 0), DX_D2);
            int w = at[2] - across.first;
            if (!across.there || w < 0 || w > 1) continue;
            float weight = tap_weight(down, h, DX_D1) * tap_weight(across, w, DX_D2);
            if (weight != 0.0) sum += weight * dy(at[0], i, j, at[3]);
        }
    }
    return sum;
}
