// Whole numbers that follow the order of elements: zeros of both signs are one, NaN is above all.
uint rising_key(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
    if ((bits & 0x7fffffffu) == 0u) return 0x80000000u;
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

uint rising_key(int x) { return uint(x) ^ 0x80000000u; }
