// random_normal: y = mean + deviation z, z by Box and Muller: sqrt(-2 ln u) times cosine and sine of 2 pi v. Rounded
// after each operation, in the order of cpu/kernels/random_normal.py, so that all devices agree.
#include "philox.glsl"

// ln u for normal u in (0, 1]: u = 2^e m with m from sqrt(1/2) to sqrt(2).
float exact_logarithm(float u) {
    uint shifted = floatBitsToUint(u) + (0x3F800000u - 0x3F3504F3u);
    float exponent = float(int(shifted >> 23) - 127);
    precise float f = uintBitsToFloat((shifted & 0x007FFFFFu) + 0x3F3504F3u) - 1.0;
    const float terms[9] = float[9](0.07149754, -0.11571201, 0.11661512, -0.124110505, 0.14249936, -0.1666848,
                                    0.20000708, -0.2499999, 0.3333333);
    precise float value = terms[0];
    for (int k = 1; k < 9; ++k) {
        precise float product = value * f;
        value = product + terms[k];
    }
    precise float square = f * f;
    precise float cube = f * square;
    value = cube * value;
    precise float half_square = 0.5 * square;
    value = value - half_square;
    value = value + f;
    precise float low = exponent * -2.12194440e-4;
    precise float high = exponent * 0.693359375;
    value = value + low;
    value = value + high;
    return value;
}

// A polynomial of degree 4 in x.
float exact_polynomial(float a, float b, float c, float d, float e, float x) {
    precise float value = a * x;
    value = value + b;
    value = value * x;
    value = value + c;
    value = value * x;
    value = value + d;
    value = value * x;
    value = value + e;
    return value;
}

vec2 normal_pair(uint first, uint second) {
    precise float u = float((first >> 8) + 1u) * 5.9604644775390625e-08;
    precise float turns = float(second >> 8) * 2.384185791015625e-07;
    precise float doubled = -2.0 * exact_logarithm(u);
    float radius = sqrt(max(doubled, 0.0));
    precise float moved = turns + 0.5;
    float quarter = floor(moved);
    precise float rest = turns - quarter;
    precise float square = rest * rest;
    precise float sine = rest * exact_polynomial(
        0.00015820653, -0.0046812664, 0.07969258, -0.6459641, 1.5707964, square);
    float cosine = exact_polynomial(
        0.0009036299, -0.02086007, 0.2536692, -1.2337005, 1.0, square);
    int side = int(quarter) & 3;
    float across = (side & 1) == 1 ? sine : cosine, up = (side & 1) == 1 ? cosine : sine;
    if (side == 1 || side == 2) across = -across;
    if (side >= 2) up = -up;
    precise vec2 pair = vec2(radius * across, radius * up);
    return pair;
}

void main() {
    int first = THREAD * 4;
    if (first >= Y_NUMEL) return;
    uvec2 key = uvec2(step_word(5), step_word(6));
#if HAS_FIRST
    // Pairs go by elements of all workers, and an invocation's first may be the second of one.
    uint begin = uint(first_row(0) * ENTRY + first), odd = begin & 1u;
    uvec4 bits = words_from(begin - odd, uint(step_word(0)), uint(stream), key);
    vec4 drawn = vec4(normal_pair(bits.x, bits.y), normal_pair(bits.z, bits.w));
    if (odd == 1u) {
        bits = words_from(begin + 3u, uint(step_word(0)), uint(stream), key);
        drawn = vec4(drawn.yzw, normal_pair(bits.x, bits.y).x);
    }
#else
    uvec4 bits = philox(uvec4(uint(THREAD), uint(step_word(0)), uint(stream), 0u), key);
    vec2 one = normal_pair(bits.x, bits.y), other = normal_pair(bits.z, bits.w);
    vec4 drawn = vec4(one, other);
#endif
    for (int k = 0; k < 4 && first + k < Y_NUMEL; ++k) {
        precise float scaled = drawn[k] * deviation;
        precise float value = scaled + mean;
        store_y_at(first + k, value);
    }
}
