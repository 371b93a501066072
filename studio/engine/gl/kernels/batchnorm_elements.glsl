// batchnorm_elements: y = gamma (x - mean) / sqrt(var + eps) + beta with the statistics of the parts
// batchnorm_columns left, which every work group joins for itself; four neighbouring channels an
// invocation, LAUNCH_1 groups in turn.
#include "chan.glsl"
#include "joined_parts.glsl"

vec3 part_state(int part, float mean, float squares) {
    return vec3(count_of(part, LAUNCH_0, X_NUMEL / COLS), mean, squares);
}

void main() {
    join_parts();
    float rows = float(X_NUMEL / COLS);
    for (int e = THREAD * 4; e < X_NUMEL; e += LAUNCH_1 * GROUP_SIZE * 4) {
        int c = e % COLS;
        vec4 scale = 1.0 / sqrt(second_of_pairs(c) / rows + eps);
#if HAS_GAMMA
        scale *= gamma_load4(gamma_cell_at(c));
#endif
        vec4 value = (x_load4(x_cell_at(e)) - first_of_pairs(c)) * scale;
#if HAS_BETA
        value += beta_load4(beta_cell_at(c));
#endif
        store_y4_at(e, value);
    }
}
