// count_apart: counts the elements of y that are not x within LAUNCH_0 + LAUNCH_1 * |x|, and keeps
// the largest finite |x|. Floats travel as their bits, which order numbers from 0 on like integers.
layout(std430, binding = 2) buffer found_block { uint largest_bits; uint apart_count; };
void main() {
    int i = THREAD;
    if (i >= Y_NUMEL) return;
    float a = float(x_at(i)), b = float(y_at(i));
    uint bits = floatBitsToUint(abs(a));
    if (!is_bad(a) && bits > largest_bits) atomicMax(largest_bits, bits);
    float room = intBitsToFloat(LAUNCH_0) + intBitsToFloat(LAUNCH_1) * abs(a);
    bool same = is_bad(a) || is_bad(b) ? a == b || (is_nan(a) && is_nan(b)) : abs(a - b) <= room;
    if (!same) atomicAdd(apart_count, 1u);
}
