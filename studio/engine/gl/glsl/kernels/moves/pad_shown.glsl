// pad, in the modes that copy: y[at] = x[the cell that place at - before shows].
#include "shown_cells.glsl"
Y_T kernel(int i) {
    int at[Y_RANK], inside[X_RANK];
    y_coords(i, at);
    x_sizes(inside);
    for (int k = 0; k < X_RANK; ++k) at[k] = shown_cell(at[k] - pads[2 * k], inside[k]);
    return x_v(at);
}
