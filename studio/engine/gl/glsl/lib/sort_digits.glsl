// A pass of the sort goes by four bits of the key, the lowest first. Each invocation of a work group has
// SORT_EACH neighbours of a block.
#include "sorted_places.glsl"
#define PASS LAUNCH_1
shared int sort_digits[16 * GROUP_SIZE];

// The place that is at j before this pass.
int place_before(int j) { return scratch[(1 + PASS % 2) * LAUNCH_0 + j]; }

// Behind the passes of a key of 32 bits follow those of the line a place is in.
int digit_of(int place) {
#if SORT_LENGTH
    if (PASS >= 8) return place / SORT_LENGTH >> 4 * (PASS - 8) & 15;
#endif
    return int(uint(scratch[place]) >> uint(4 * PASS) & 15u);
}

int first_of(int lane) { return GROUP * SORT_BLOCK + lane * SORT_EACH; }

// How often each digit is among an invocation's own.
void count_digits(int lane) {
    for (int d = 0; d < 16; ++d) sort_digits[d * GROUP_SIZE + lane] = 0;
    for (int j = first_of(lane); j < min(first_of(lane) + SORT_EACH, LAUNCH_0); ++j) {
        ++sort_digits[digit_of(place_before(j)) * GROUP_SIZE + lane];
    }
    barrier();
}
