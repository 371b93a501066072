// sample_grid: y[n,i,j,c] = sum over the four cells around the place grid[n,i,j] of weight(h) weight(w) x[n,h,w,c].
#include "sampled.glsl"
float kernel(int e) {
    int at[Y_RANK];
    y_coords(e, at);
    Taps across = taps_of(grid(at[0], at[1], at[2], 0), X_D2);
    Taps down = taps_of(grid(at[0], at[1], at[2], 1), X_D1);
    if (!across.there || !down.there) return NOT_A_NUMBER;
    float sum = 0.0;
    for (int h = 0; h < 2; ++h) {
        float weight = tap_weight(down, h, X_D1);
        if (weight == 0.0) continue;
        float row = 0.0;
        for (int w = 0; w < 2; ++w) {
            float share = tap_weight(across, w, X_D2);
            if (share != 0.0) row += share * x(at[0], down.first + h, across.first + w, at[3]);
        }
        sum += weight * row;
    }
    return sum;
}
