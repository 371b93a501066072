// floor_div and mod of formulas: quotients rounded towards minus infinity, and what they leave.

// |a| mod |b| of finite numbers, exact: the mantissas are divided as whole numbers, 8 bits at a time.
float rest_of_sizes(float a, float b) {
    uint p = floatBitsToUint(abs(a)), q = floatBitsToUint(abs(b));
    if (p < q) return abs(a);
    int above = max(int(p >> 23), 1), below = max(int(q >> 23), 1);
    uint divisor = (q & 0x7fffffu) | (q < 0x800000u ? 0u : 0x800000u);
    uint rest = ((p & 0x7fffffu) | (p < 0x800000u ? 0u : 0x800000u)) % divisor;
    for (int left = above - below; left > 0 && rest != 0u; left -= 8)
        rest = (rest << uint(min(left, 8))) % divisor;
    return float(rest) * exp2(-23.0) * uintBitsToFloat(uint(below) << 23u);
}

float floored_rest(float a, float b) {
    if (b == 0.0 || is_bad(a) || is_nan(b)) return NOT_A_NUMBER;
    if (is_bad(b)) return a == 0.0 || (a < 0.0) == (b < 0.0) ? a : b;
    float rest = rest_of_sizes(a, b) * (a < 0.0 ? -1.0 : 1.0);
    return rest != 0.0 && (a < 0.0) != (b < 0.0) ? rest + b : rest;
}

// Without the rest a quotient is whole but for rounding.
float floored_quotient(float a, float b) {
    if (b == 0.0 || is_bad(a) || is_nan(b)) return NOT_A_NUMBER;
    if (is_bad(b)) return a == 0.0 || (a < 0.0) == (b < 0.0) ? 0.0 : -1.0;
    return roundEven(a / b - floored_rest(a, b) / b);
}

// Of whole numbers 0 for b = 0; -2^31 has no quotient by -1 and wraps. % of negative ones is open.
int floored_quotient(int a, int b) {
    if (b == 0) return 0;
    if (b == -1) return -a;
    int q = a / b, rest = a - q * b;
    return rest != 0 && (rest < 0) != (b < 0) ? q - 1 : q;
}

int floored_rest(int a, int b) {
    if (b == 0 || b == -1) return 0;
    int rest = a - a / b * b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
