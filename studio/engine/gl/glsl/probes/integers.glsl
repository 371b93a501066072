// integers: one answer per question of INTEGER_QUESTIONS in probe_numbers.py, in that order
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer Inputs { int x[]; };
layout(std430, binding = 1) writeonly buffer Answers { uint y[]; };

void main() {
    int seven = x[0], two = x[1], zero = x[2];
    uint m = uint(x[3]), n = uint(x[4]), bits = uint(x[5]);
    y[0] = uint(seven / two);
    y[1] = uint(seven % two);
    y[2] = uint(-seven / two);
    y[3] = uint(-seven % two);
    y[4] = uint(seven / zero);
    uint high, low;
    umulExtended(m, n, high, low);
    y[5] = high;
    y[6] = low;
    y[7] = m * n;
    y[8] = floatBitsToUint(float(bits >> 8) * (1.0 / 16777216.0));
    y[9] = (m << 13) ^ (n >> 7);
}
