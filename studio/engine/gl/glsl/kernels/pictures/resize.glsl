// resize: y[n,i,j,c] = sum over the cells (h, w) near the place of (i, j) of weight(h) weight(w) x[n,h,w,c].
#include "resized.glsl"
Y_T kernel(int e) {
    int at[Y_RANK];
    y_coords(e, at);
#if METHOD == METHOD_NEAREST
    return x(at[0], nearest_cell(at[1], X_D1, Y_D1), nearest_cell(at[2], X_D2, Y_D2), at[3]);
#else
    Taps down = taps_of(at[1], X_D1, Y_D1), across = taps_of(at[2], X_D2, Y_D2);
    float sum = 0.0;
    for (int h = down.first; h <= down.last; ++h) {
        float weight = tap_weight(down, h, X_D1);
        if (weight == 0.0) continue;
        float row = 0.0;
        for (int w = across.first; w <= across.last; ++w) {
            float share = tap_weight(across, w, X_D2);
            if (share != 0.0) row += share * x(at[0], tap_cell(h, X_D1), tap_cell(w, X_D2), at[3]);
        }
        sum += weight * row;
    }
    return LEAVES_OUT ? sum / (tap_total(down, X_D1) * tap_total(across, X_D2)) : sum;
#endif
}
