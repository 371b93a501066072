// sort_scan: counts become where a digit's places of a block begin: behind all of lower digits, then
// behind those of the blocks before. One work group, each invocation with a stretch.
#include "sorted_places.glsl"
shared int sort_sums[GROUP_SIZE];
void main() {
    int lane = int(gl_LocalInvocationIndex), entries = 16 * SORT_BLOCKS;
    int each = (entries + GROUP_SIZE - 1) / GROUP_SIZE;
    int first = min(lane * each, entries), end = min(first + each, entries), sum = 0;
    for (int k = first; k < end; ++k) sum += scratch[SORT_COUNTS + k];
    sort_sums[lane] = sum;
    barrier();
    for (int reach = 1; reach < GROUP_SIZE; reach *= 2) {
        int before = lane >= reach ? sort_sums[lane - reach] : 0;
        barrier();
        sort_sums[lane] += before;
        barrier();
    }
    int begin = sort_sums[lane] - sum;
    for (int k = first; k < end; ++k) {
        int count = scratch[SORT_COUNTS + k];
        scratch[SORT_COUNTS + k] = begin;
        begin += count;
    }
}
