// augment_noise: y = x + deviation (u0 + ... + u11 - 6), twelve draws an element, added in order.
#include "augmentation.glsl"
Y_T kernel(int k) {
    int n = k / ENTRY;
    int chosen = order((step_word(2) + n) % ORDER_NUMEL) + step_word(7);
    ivec4 words = ivec4(step_word(1), step_word(2), step_word(5), step_word(6));
    uint block = uint(k % ENTRY) * 3u;
    precise float sum = 0.0;
    for (uint b = 0u; b < 3u; ++b) {
        vec4 u = sample_draws(block + b, words, stream, chosen);
        sum = sum + u.x;
        sum = sum + u.y;
        sum = sum + u.z;
        sum = sum + u.w;
    }
    return x_at(k) + (sum - 6.0) * deviation;
}
