// Draws of an augmentation: keyed by (sample, epoch), whatever batch the sample falls in.
#include "philox.glsl"

// Word block `block` of sample `lane` - 1: the four uniforms 4 block .. 4 block + 3.
vec4 sample_draws(uint block, ivec4 epoch_cursor_key, int stream_number, int sample_number) {
    uvec2 key = uvec2(epoch_cursor_key.zw);
    uvec4 counter = uvec4(block, uint(epoch_cursor_key.x), uint(stream_number),
                          uint(1 + sample_number));
    uvec4 bits = philox(counter, key);
    return vec4(unit_of(bits.x), unit_of(bits.y), unit_of(bits.z), unit_of(bits.w));
}
