// augment_flip: y[n,i,j] = x[n,i',j'], mirrored left-right where u0 < 1/2, up-down where u1 < 1/2.
#include "augmentation.glsl"
Y_T kernel(int k) {
    int at[4];
    y_coords(k, at);
    int chosen = order((step_word(2) + at[0]) % ORDER_NUMEL) + step_word(7);
    ivec4 words = ivec4(step_word(1), step_word(2), step_word(5), step_word(6));
    vec4 u = sample_draws(0u, words, stream, chosen);
#if HORIZONTAL
    if (u.x < 0.5) at[2] = X_D2 - 1 - at[2];
#endif
#if VERTICAL
    if (u.y < 0.5) at[1] = X_D1 - 1 - at[1];
#endif
    return x_v(at);
}
