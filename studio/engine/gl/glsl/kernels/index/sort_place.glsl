// sort_place: every place goes where its digit's begin, behind those of the same digit before it.
#include "sort_digits.glsl"
void main() {
    int lane = int(gl_LocalInvocationIndex);
    count_digits(lane);
    if (lane < 16 && GROUP < SORT_BLOCKS) {
        int begin = scratch[SORT_COUNTS + lane * SORT_BLOCKS + GROUP];
        for (int k = 0; k < GROUP_SIZE; ++k) {
            int count = sort_digits[lane * GROUP_SIZE + k];
            sort_digits[lane * GROUP_SIZE + k] = begin;
            begin += count;
        }
    }
    barrier();
    for (int j = first_of(lane); j < min(first_of(lane) + SORT_EACH, LAUNCH_0); ++j) {
        int place = place_before(j);
        int to = sort_digits[digit_of(place) * GROUP_SIZE + lane]++;
        scratch[(1 + (PASS + 1) % 2) * LAUNCH_0 + to] = place;
    }
}
