// gradient of pad in the modes that copy: dx[at] = sum of dy over all places that show the cell, in
// row-major order: the combinations of the places along each dimension.
#include "shown_cells.glsl"

// The first place from `place` on, counted from the first cell, that shows cell `home` of dimension k; the end
// of y where there is none.
int next_place(int k, int place, int home, int size) {
    for (; place < size + pads[2 * k + 1]; ++place) {
        if (place >= 0 && place < size) {
            if (place <= home) return home;
            place = size - 1;
        } else if (shown_cell(place, size) == home) {
            return place;
        }
    }
    return place;
}

DX_T kernel(int i) {
    int home[DX_RANK], sizes[DX_RANK], place[DX_RANK];
    dx_coords(i, home);
    dx_sizes(sizes);
    place[0] = next_place(0, -pads[0], home[0], sizes[0]);
    DX_T sum = DX_T(0);
    for (int k = 0; k >= 0;) {
        if (place[k] >= sizes[k] + pads[2 * k + 1]) {
            if (--k >= 0) place[k] = next_place(k, place[k] + 1, home[k], sizes[k]);
        } else if (k + 1 < DX_RANK) {
            ++k;
            place[k] = next_place(k, -pads[2 * k], home[k], sizes[k]);
        } else {
            int at[DX_RANK];
            for (int d = 0; d < DX_RANK; ++d) at[d] = place[d] + pads[2 * d];
            sum += dy_v(at);
            place[k] = next_place(k, place[k] + 1, home[k], sizes[k]);
        }
    }
    return sum;
}
