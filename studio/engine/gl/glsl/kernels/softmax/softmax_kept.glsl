// softmax with the row kept in registers, read and written once: each lane holds KEPT vec4 of it.
#include "lanes.glsl"
void main() {
    int row = lane_result(), lane = lane_number();
    bool mine = row * step < Y_NUMEL;
    int first = (mine ? row : 0) * step + lane * 4;
    vec4 part[KEPT];
    float high = -INFINITE, sum = 0.0;
    for (int k = 0; k < KEPT; ++k) {
        part[k] = x_load4(first + k * (LANES * 4));
        for (int c = 0; c < 4; ++c) high = larger(high, part[k][c]);
    }
    high = largest(high);
    for (int k = 0; k < KEPT; ++k) {
        part[k] = exp(part[k] - high);
        sum += part[k].x + part[k].y + part[k].z + part[k].w;
    }
    float share = 1.0 / summed(sum);
    if (!mine) return;
    for (int k = 0; k < KEPT; ++k) store_y4_at(first + k * (LANES * 4), part[k] * share);
}
