// augment_shift: y[n,i,j] = x[n, i - dy, j - dx], fill outside.
#include "augmentation.glsl"
Y_T kernel(int k) {
    int at[4];
    y_coords(k, at);
    int chosen = order((step_word(2) + at[0]) % ORDER_NUMEL) + step_word(7);
    ivec4 words = ivec4(step_word(1), step_word(2), step_word(5), step_word(6));
    vec4 u = sample_draws(0u, words, stream, chosen);
    at[1] -= int(floor(u.x * float(2 * rows + 1))) - rows;
    at[2] -= int(floor(u.y * float(2 * cols + 1))) - cols;
    if (at[1] < 0 || at[1] >= X_D1 || at[2] < 0 || at[2] >= X_D2) return fill;
    return x_v(at);
}
