// grads_batchnorm_elements: grads_batchnorm_dx with the sums of the parts grads_batchnorm_columns left,
// which every work group joins for itself; four neighbouring channels an invocation, LAUNCH_1 groups in
// turn.
#include "statistics.glsl"
#include "joined_parts.glsl"

vec3 part_state(int part, float plain, float scaled) { return vec3(0.0, plain, scaled); }
vec3 joined(vec3 a, vec3 b) { return a + b; }

void main() {
    join_parts();
    float rows = float(DX_NUMEL / COLS);
    for (int e = THREAD * 4; e < DX_NUMEL; e += LAUNCH_1 * GROUP_SIZE * 4) {
        int c = e % COLS;
        vec4 xhat = (x_load4(x_cell_at(e)) - center_load4(center_cell_at(c))) * inverse4_deviation(c);
        vec4 g = dy_load4(dy_cell_at(e)) - (first_of_pairs(c) + xhat * second_of_pairs(c)) / rows;
        store_dx4_at(e, g * scale4_of(c));
    }
}
