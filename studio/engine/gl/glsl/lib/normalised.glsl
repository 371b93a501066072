// y = gamma (x - mean) / sqrt(var + eps) + beta with the statistics of parts: pairs of a part's mean and
// its sum of squared deviations. Four neighbouring channels an invocation, all work groups in turn. Parts
// take LAUNCH_1 rows in turn: no macro, so that normalisations behind different kernels share a program.
#include "chan.glsl"
#include "joined_parts.glsl"

// What is kept of the statistics of four channels; one work group calls it.
void keep_statistics(int c, vec4 mean, vec4 variance);

#if HAS_BETA
shared vec4 shifts[PART_QUADS];
#endif

// Means are taken about part 0's, so that a large one costs no accuracy.
void add_part(inout vec4 first, inout vec4 second, int part, vec4 mean, vec4 squares, vec4 origin) {
    float count = count_of(part, LAUNCH_0, LAUNCH_1, X_NUMEL / COLS);
    vec4 d = mean - origin;
    first += count * d;
    second += squares + count * d * d;
}

// Afterwards they are the mean, and what a difference from it is multiplied by.
void finish_columns(inout vec4 first, inout vec4 second, int c, vec4 origin) {
    float rows = float(X_NUMEL / COLS);
    vec4 shift = first / rows;
    vec4 variance = second - first * shift;
    for (int k = 0; k < 4; ++k) variance[k] = larger(variance[k], 0.0) / rows;
    first = origin + shift;
    second = 1.0 / sqrt(variance + eps);
    if (GROUP == 0) keep_statistics(c, first, variance);
#if HAS_GAMMA
    second *= gamma_load4(gamma_cell_at(c));
#endif
#if HAS_BETA
    shifts[c / 4] = beta_load4(beta_cell_at(c));
#endif
}

// Reads AHEAD fours, and what their stores will read.
void read_ahead(int begin, int stride, out vec4 ahead[AHEAD]) {
    for (int k = 0; k < AHEAD; ++k) {
        int e = min(begin + k * stride, X_NUMEL - 4);
        ahead[k] = x_load4(x_cell_at(e));
#ifdef Y_HOLDS
        hold_y4_at(k, e);
#endif
    }
}

void main() {
    int begin = THREAD * 4, stride = int(gl_NumWorkGroups.x) * GROUP_SIZE * 4;
    vec4 ahead[AHEAD];
    read_ahead(begin, stride, ahead);
    join_parts();
    while (true) {
        for (int k = 0; k < AHEAD; ++k) {
            int e = begin + k * stride, c = e % COLS;
            if (e >= X_NUMEL) return;
            vec4 value = (ahead[k] - first_of(c)) * second_of(c);
#if HAS_BETA
            value += shifts[c / 4];
#endif
#ifdef Y_HOLDS
            store_y4_held_at(k, e, value);
#else
            store_y4_at(e, value);
#endif
        }
        begin += AHEAD * stride;
        if (begin >= X_NUMEL) return;
        read_ahead(begin, stride, ahead);
    }
}
