// augment_rotate: y[n,i,j] = x at centre + R(-angle) ((i,j) - centre) / zoom, bilinear, fill beyond.
#include "augmentation.glsl"
float corner(int n, int i, int j, int c) {
    return i < 0 || i >= X_D1 || j < 0 || j >= X_D2 ? fill : x(n, i, j, c);
}

Y_T kernel(int k) {
    int at[4];
    y_coords(k, at);
    int chosen = order((step_word(2) + at[0]) % ORDER_NUMEL) + step_word(7);
    ivec4 words = ivec4(step_word(1), step_word(2), step_word(5), step_word(6));
    vec4 u = sample_draws(0u, words, stream, chosen);
    float angle = (2.0 * u.x - 1.0) * (degrees * 0.017453292519943295);
    float nearer = 1.0 + u.y * (zoom - 1.0);
    vec2 centre = vec2(float(X_D1 - 1) * 0.5, float(X_D2 - 1) * 0.5);
    vec2 from = vec2(float(at[1]), float(at[2])) - centre;
    float down = (cos(angle) * from.x + sin(angle) * from.y) / nearer + centre.x;
    float across = (cos(angle) * from.y - sin(angle) * from.x) / nearer + centre.y;
    float top = floor(down), left = floor(across);
    float part_h = down - top, part_w = across - left;
    int i = int(top), j = int(left);
    float upper = corner(at[0], i, j, at[3]) * (1.0 - part_w)
                + corner(at[0], i, j + 1, at[3]) * part_w;
    float lower = corner(at[0], i + 1, j, at[3]) * (1.0 - part_w)
                + corner(at[0], i + 1, j + 1, at[3]) * part_w;
    return upper * (1.0 - part_h) + lower * part_h;
}
