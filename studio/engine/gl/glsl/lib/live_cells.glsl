// Elements of storage of any type, known only at run time, by their cell. Whoever includes this
// defines live_word(int word), a 32-bit word of the storage. Types have the codes of DType.

const int LIVE_FLOAT32 = 1;
const int LIVE_FLOAT16 = 2;
const int LIVE_INT32 = 3;
const int LIVE_UINT8 = 4;
const int LIVE_BOOL = 5;

const uint LIVE_NAN = 1u;
const uint LIVE_PLUS = 2u;
const uint LIVE_MINUS = 4u;
const uint LIVE_FINITE = 8u;

uint live_word(int word);

// The element's own bits, in the low end of a word.
uint live_bits(int type, int cell) {
    if (type == LIVE_FLOAT16) return (live_word(cell >> 1) >> uint((cell & 1) * 16)) & 0xffffu;
    if (type == LIVE_UINT8) return (live_word(cell >> 2) >> uint((cell & 3) * 8)) & 0xffu;
    uint word = live_word(cell);
    return type == LIVE_BOOL ? uint(word != 0u) : word;
}

// What sort of number the bits are; tests on numbers may be optimised away, tests on bits cannot.
uint live_mark(int type, uint bits) {
    if (type == LIVE_FLOAT32 || type == LIVE_FLOAT16) {
        uint high = type == LIVE_FLOAT32 ? 0x7f800000u : 0x7c00u;
        uint low = type == LIVE_FLOAT32 ? 0x007fffffu : 0x03ffu;
        uint sign_bit = type == LIVE_FLOAT32 ? 0x80000000u : 0x8000u;
        if ((bits & high) != high) return LIVE_FINITE;
        if ((bits & low) != 0u) return LIVE_NAN;
        return (bits & sign_bit) != 0u ? LIVE_MINUS : LIVE_PLUS;
    }
    return LIVE_FINITE;
}

bool live_is_zero(int type, uint bits) {
    if (type == LIVE_FLOAT32) return (bits & 0x7fffffffu) == 0u;
    if (type == LIVE_FLOAT16) return (bits & 0x7fffu) == 0u;
    return bits == 0u;
}

float live_number(int type, uint bits) {
    if (type == LIVE_FLOAT32) return uintBitsToFloat(bits);
    if (type == LIVE_FLOAT16) return unpackHalf2x16(bits).x;
    return float(int(bits));
}
