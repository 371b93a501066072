// Functions that keep NaN where GLSL's own may drop it. GLSL leaves min, max and clamp of NaN open
// and drivers answer with the other operand; tests on the bits cannot be optimised away.

const float NOT_A_NUMBER = uintBitsToFloat(0x7fc00000u);
const float INFINITE = uintBitsToFloat(0x7f800000u);
const float SMALLEST_NORMAL = uintBitsToFloat(0x00800000u);

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool is_bad(float x) { return (floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u; }

float larger(float a, float b) {
    if (is_nan(a)) return a;
    if (is_nan(b)) return b;
    return a >= b ? a : b;
}

float smaller(float a, float b) {
    if (is_nan(a)) return a;
    if (is_nan(b)) return b;
    return a <= b ? a : b;
}

int larger(int a, int b) { return max(a, b); }
int smaller(int a, int b) { return min(a, b); }

// Limits that are numbers.

float at_least(float x, float low) { return is_nan(x) ? x : max(x, low); }

float at_most(float x, float high) { return is_nan(x) ? x : min(x, high); }

float within(float x, float low, float high) { return is_nan(x) ? x : min(max(x, low), high); }

int sign_of(int x) { return sign(x); }
float sign_of(float x) { return is_nan(x) ? x : x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0; }

// Older drivers compute (e^2x - 1)/(e^2x + 1) and overflow; 15 is past the last float below 1.
float tangent_h(float x) { return is_nan(x) ? x : tanh(clamp(x, -15.0, 15.0)); }

float sigmoid(float x) {
    if (is_nan(x)) return x;
    float e = exp(-abs(x));
    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

// e^x - 1 without cancellation near 0: Taylor up to x^5, whose next term is below 2^-26 there.
float exp_minus_1(float x) {
    if (abs(x) > 0.0625) return exp(x) - 1.0;
    return x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x * (1.0 / 24.0 + x * (1.0 / 120.0)))));
}

// ln(1 + x) for x >= 0 without cancellation near 0.
float log_1_plus(float x) {
    if (x > 0.0625) return log(1.0 + x);
    return x * (1.0 - x * (0.5 - x * (1.0 / 3.0 - x * (0.25 - x * (0.2 - x * (1.0 / 6.0))))));
}

// ln(1 + x) without cancellation near 0: where 1 + x is rounded, the quotient makes up for it.
float logarithm_1_plus(float x) {
    if (is_nan(x) || x < -1.0) return NOT_A_NUMBER;
    if (x == -1.0) return -INFINITE;
    if (abs(x) < 0.0625) return log_1_plus(x);
    precise float more = 1.0 + x;
    precise float kept = more - 1.0;
    return x > 16777216.0 ? log(x) : log(more) * (x / kept);
}

float softplus(float x) { return is_nan(x) ? x : max(x, 0.0) + log_1_plus(exp(-abs(x))); }

// log and pow of some drivers take a denormal for a number near the smallest normal one; 2^24 times
// it is normal, or 0 where the device flushes denormals.
float lifted(float x) { return abs(x) < SMALLEST_NORMAL ? x * 16777216.0 : x; }

float logarithm(float x) {
    if (is_nan(x) || x < 0.0) return NOT_A_NUMBER;
    float normal = lifted(x);
    if (normal == 0.0) return -INFINITE;
    return log(normal) - (x < SMALLEST_NORMAL ? 16.635532 : 0.0);
}

float squared(float x) { return x * x; }
int squared(int x) { return x * x; }

float root(float x) { return is_nan(x) || x < 0.0 ? NOT_A_NUMBER : sqrt(x); }

float inverse_root(float x) {
    if (is_nan(x) || x < 0.0) return NOT_A_NUMBER;
    return 1.0 / (x == 0.0 ? x : sqrt(x));
}

float power(float a, float b) {
    if (b == 0.0 || a == 1.0) return 1.0;
    if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
    bool odd = b == floor(b) && floor(b * 0.5) * 2.0 != b;
    float normal = lifted(a);
    if (normal == 0.0) return (b > 0.0 ? 0.0 : INFINITE) * (odd && 1.0 / a < 0.0 ? -1.0 : 1.0);
    if (b == 1.0) return a;
    if (b == 2.0) return a * a;
    if (a < 0.0 && b != floor(b)) return is_bad(a) ? (b > 0.0 ? INFINITE : 0.0) : NOT_A_NUMBER;
    float size = a == -1.0 ? 1.0 : pow(abs(normal), b);
    if (abs(a) < SMALLEST_NORMAL) size *= exp2(-24.0 * b);
    return a < 0.0 && odd ? -size : size;
}

// (1 + erf(x / sqrt 2)) / 2 by its lower tail e^(-x^2/2) (1 + u) (c0 + ... + c8 u^8): the form of
// Abramowitz and Stegun 7.1.26 with coefficients of our own, relative error at most 5e-8 before
// rounding (see normal_share in cpu/rows.py).
float normal_share(float x) {
    if (is_nan(x)) return x;
    float u = 2.0 / (1.0 + 0.25 * abs(x)) - 1.0;
    float high = 0.007554381 + u * (0.00094501325 + u * (-0.00045744472
        + u * (-0.00019797265 + u * 0.00005181871)));
    float sum = 0.09441064 + u * (0.0759871 + u * (0.048391815 + u * (0.023314627 + u * high)));
    float tail = exp(-0.5 * x * x) * (1.0 + u) * sum;
    return x > 0.0 ? 1.0 - tail : tail;
}

// 1 - b^t for 0 <= b < 1 and t >= 1, without the cancellation of b near 1: with u = 1 - b it is
// -(e^(t ln(1 - u)) - 1), the logarithm by its series where u is small.
float one_minus_power(float b, float t) {
    float u = 1.0 - b;
    float logarithm_b = u < 0.03125
        ? -u * (1.0 + u * (0.5 + u * (1.0 / 3.0 + u * (0.25 + u * (0.2 + u * (1.0 / 6.0))))))
        : log(b);
    return b == 0.0 ? 1.0 : -exp_minus_1(t * logarithm_b);
}
