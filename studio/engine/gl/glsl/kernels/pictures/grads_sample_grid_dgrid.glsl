// gradient of sample_grid by the grid: how each of the four weights changes, times dy and the cell, over channels.
#include "sampled.glsl"
float kernel(int e) {
    int at[DGRID_RANK];
    dgrid_coords(e, at);
    Taps across = taps_of(grid(at[0], at[1], at[2], 0), X_D2);
    Taps down = taps_of(grid(at[0], at[1], at[2], 1), X_D1);
    if (!across.there || !down.there) return 0.0;
    bool is_across = at[3] == 0;
    float sum = 0.0;
    for (int h = 0; h < 2; ++h) {
        for (int w = 0; w < 2; ++w) {
            float change = is_across ? tap_weight(down, h, X_D1) * tap_slope(across, w, X_D2)
                                     : tap_slope(down, h, X_D1) * tap_weight(across, w, X_D2);
            if (change == 0.0) continue;
            float cell = 0.0;
            for (int c = 0; c < X_D3; ++c) {
                cell += dy(at[0], at[1], at[2], c) * x(at[0], down.first + h, across.first + w, c);
            }
            sum += change * cell;
        }
    }
    return sum;
}
