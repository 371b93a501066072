// gradient of resize: dx[n,h,w,c] = sum over the results (i, j) that take the cell, in row order, of
// share(i) share(j) dy[n,i,j,c].
#include "resized.glsl"
float kernel(int e) {
    int at[DX_RANK];
    dx_coords(e, at);
    ivec2 rows = takers_of(at[1], DX_D1, DY_D1), columns = takers_of(at[2], DX_D2, DY_D2);
    float sum = 0.0;
    for (int i = rows.x; i <= rows.y; ++i) {
        float weight = share_of(i, at[1], DX_D1, DY_D1);
        if (weight == 0.0) continue;
        float row = 0.0;
        for (int j = columns.x; j <= columns.y; ++j) {
            float share = share_of(j, at[2], DX_D2, DY_D2);
            if (share != 0.0) row += share * dy(at[0], i, j, at[3]);
        }
        sum += weight * row;
    }
    return sum;
}
