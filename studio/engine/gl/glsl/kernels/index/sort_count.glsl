// sort_count: how often each digit is in each block.
#include "sort_digits.glsl"
void main() {
    int lane = int(gl_LocalInvocationIndex);
    count_digits(lane);
    if (lane >= 16 || GROUP >= SORT_BLOCKS) return;
    int count = 0;
    for (int k = 0; k < GROUP_SIZE; ++k) count += sort_digits[lane * GROUP_SIZE + k];
    scratch[SORT_COUNTS + lane * SORT_BLOCKS + GROUP] = count;
}
