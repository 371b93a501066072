// Functions of angles: drivers' tan, asin, acos and atan are off by up to 4096 roundings, and their
// sin and cos keep no digits near their zeros, nor far out.
// The polynomials are fits of our own towards equal relative errors.

const float HALF_PI = 1.5707963;

// 2 / pi behind the point, behind one word of zeros.
const uint TWO_BY_PI[8] = uint[8](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
    0xdb629599u, 0x3c439041u, 0xfe5163abu);

// The rest of x by pi / 2, within pi / 4, and the quarter turns taken away, modulo 4. From 4096 on
// by Payne and Hanek's method: x is m 2^e, and of 2 / pi only the 96 bits count that give a quotient
// below 4; m times these leaves a quotient with 94 bits behind its point.
float quarter_rest(float x, out int turns) {
    float size = abs(x);
    if (size < 4096.0) {
        precise float n = roundEven(x * 0.63661977);
        // pi / 2 in three parts, the first two short enough for exact products.
        precise float rest = x - n * 1.5703125;
        rest -= n * 0.0004837513;
        rest -= n * 7.549789954891882e-8;
        turns = int(n) & 3;
        return rest;
    }
    uint bits = floatBitsToUint(size), m = (bits & 0x7fffffu) | 0x800000u;
    int from = int(bits >> 23) - 120, word = from >> 5;
    uint part[3];
    for (int k = 0; k < 3; ++k) {
        uint next = (from & 31) == 0 ? 0u : TWO_BY_PI[word + k + 1] >> uint(32 - (from & 31));
        part[k] = (TWO_BY_PI[word + k] << uint(from & 31)) | next;
    }
    uint above, low, more, middle, carry;
    umulExtended(m, part[2], above, low);
    umulExtended(m, part[1], more, middle);
    middle = uaddCarry(middle, above, carry);
    uint high = m * part[0] + more + carry;
    // Rounded to the nearest quarter turn; what is left is of either sign.
    turns = int((high + 0x20000000u) >> 30) & 3;
    uint first = (high << 2) | (middle >> 30), second = (middle << 2) | (low >> 30);
    bool minus = (first & 0x80000000u) != 0u;
    if (minus) {
        second = ~second + 1u;
        first = ~first + (second == 0u ? 1u : 0u);
    }
    float rest = (float(first) * exp2(-32.0) + float(second) * exp2(-64.0)) * HALF_PI;
    if (x < 0.0) turns = -turns & 3;
    return minus != (x < 0.0) ? -rest : rest;
}

// Within pi / 4.
float small_sine(float r) {
    float z = r * r;
    return r + r * z * (-0.16666664 + z * (0.008332725 - z * 0.00019582856));
}

float small_cosine(float r) {
    float z = r * r;
    return 1.0 - 0.5 * z + z * z * (0.041666664 + z * (-0.0013888279 + z * 2.4542896e-05));
}

float sine(float x) {
    if (is_bad(x)) return NOT_A_NUMBER;
    int turns;
    float r = quarter_rest(x, turns), y = (turns & 1) == 0 ? small_sine(r) : small_cosine(r);
    return (turns & 2) == 0 ? y : -y;
}

float cosine(float x) {
    if (is_bad(x)) return NOT_A_NUMBER;
    int turns;
    float r = quarter_rest(x, turns), y = (turns & 1) == 0 ? small_cosine(r) : small_sine(r);
    return ((turns + 1) & 2) == 0 ? y : -y;
}

float tangent(float x) {
    if (is_bad(x)) return NOT_A_NUMBER;
    int turns;
    float r = quarter_rest(x, turns), z = r * r;
    float high = 0.021620946 + z * (0.009962718 + z * (0.0011844921 + z * 0.003843591));
    float y = r + r * z * (0.33333334 + z * (0.13333231 + z * (0.05399449 + z * high)));
    return (turns & 1) == 0 ? y : -1.0 / y;
}

// arcsin s for 0 <= s <= 1/2.
float small_arc_sine(float s) {
    float z = s * s;
    float high = 0.04459811 + z * (0.031115312 + z * (0.017081691 + z * 0.033799656));
    return s + s * z * (0.16666666 + z * (0.075000986 + z * high));
}

// Above 1/2 by arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2), which keeps the digits of 1 - x.
float arc_sine(float x) {
    float size = abs(x);
    if (!(size <= 1.0)) return NOT_A_NUMBER;
    float y = size <= 0.5 ? small_arc_sine(size)
        : HALF_PI - 2.0 * small_arc_sine(sqrt(0.5 - 0.5 * size));
    return x < 0.0 ? -y : y;
}

float arc_cosine(float x) {
    float size = abs(x);
    if (!(size <= 1.0)) return NOT_A_NUMBER;
    if (size <= 0.5) return HALF_PI - (x < 0.0 ? -small_arc_sine(size) : small_arc_sine(size));
    float y = 2.0 * small_arc_sine(sqrt(0.5 - 0.5 * size));
    return x < 0.0 ? 2.0 * HALF_PI - y : y;
}

// arctan t for 0 <= t, by a polynomial up to tan(pi / 8).
float positive_arc_tangent(float t) {
    float base = t > 2.4142135 ? HALF_PI : t > 0.41421357 ? 0.5 * HALF_PI : 0.0;
    float s = t > 2.4142135 ? -1.0 / t : t > 0.41421357 ? (t - 1.0) / (t + 1.0) : t;
    float z = s * s;
    float high = -0.14264122 + z * (0.1074527 + z * -0.064563856);
    return base + (s + s * z * (-0.3333333 + z * (0.19999546 + z * high)));
}

float arc_tangent(float x) {
    if (is_nan(x)) return x;
    float y = positive_arc_tangent(abs(x));
    return x < 0.0 ? -y : x == 0.0 ? x : y;
}

float angle_of(float a, float b) {
    if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
    float height = abs(a), width = abs(b), far = max(height, width), near = min(height, width);
    float quotient = far == 0.0 ? 0.0 : is_bad(near) ? 1.0 : is_bad(far) ? 0.0 : near / far;
    float angle = positive_arc_tangent(quotient);
    if (height > width) angle = HALF_PI - angle;
    if ((floatBitsToUint(b) >> 31) != 0u) angle = 2.0 * HALF_PI - angle;
    return (floatBitsToUint(a) >> 31) != 0u ? -angle : angle;
}
