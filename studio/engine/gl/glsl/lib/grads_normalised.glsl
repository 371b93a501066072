// dx = gamma / deviation (dy - (sum of dy + xhat sum of dy xhat) / rows) with sums in parts. With
// HAS_STATS parts have sums of dy (x - mean) in the place of those of dy xhat. Four neighbouring channels
// an invocation, all work groups in turn.
#include "statistics.glsl"
#include "joined_parts.glsl"

// What is kept of the sums of four channels; one work group calls it.
void keep_sums(int c, vec4 plain, vec4 scaled);

shared vec4 centers[PART_QUADS];
shared vec4 scales[PART_QUADS];

void add_part(inout vec4 first, inout vec4 second, int part, vec4 plain, vec4 scaled, vec4 origin) {
    first += plain;
    second += scaled;
}

// Afterwards they are what is taken away of dy: a constant, and what x - mean is multiplied by.
void finish_columns(inout vec4 first, inout vec4 second, int c, vec4 origin) {
    float rows = float(DX_NUMEL / COLS);
    vec4 inverse = inverse4_deviation(c);
#if HAS_STATS
    second *= inverse;
#endif
    if (GROUP == 0) keep_sums(c, first, second);
    first /= rows;
    second *= inverse / rows;
    centers[c / 4] = center_load4(center_cell_at(c));
    scales[c / 4] = scale4_of(c);
}

void main() {
    int begin = THREAD * 4, stride = int(gl_NumWorkGroups.x) * GROUP_SIZE * 4;
    vec4 ahead[AHEAD], dy_ahead[AHEAD];
    for (int k = 0; k < AHEAD; ++k) {
        int e = min(begin + k * stride, DX_NUMEL - 4);
        ahead[k] = x_load4(x_cell_at(e));
        dy_ahead[k] = dy_load4(dy_cell_at(e));
    }
    join_parts();
    while (true) {
        for (int k = 0; k < AHEAD; ++k) {
            int e = begin + k * stride, c = e % COLS;
            if (e >= DX_NUMEL) return;
            vec4 g = dy_ahead[k] - first_of(c) - (ahead[k] - centers[c / 4]) * second_of(c);
            store_dx4_at(e, g * scales[c / 4]);
        }
        begin += AHEAD * stride;
        if (begin >= DX_NUMEL) return;
        for (int k = 0; k < AHEAD; ++k) {
            int e = min(begin + k * stride, DX_NUMEL - 4);
            ahead[k] = x_load4(x_cell_at(e));
            dy_ahead[k] = dy_load4(dy_cell_at(e));
        }
    }
}
