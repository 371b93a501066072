// Scratch storage of a stable sort of LAUNCH_0 places by their keys, as whole numbers: the keys by place,
// two lists of places that each pass goes between, and how often each digit is in each block.
#define SORT_EACH 16
#define SORT_BLOCK (256 * SORT_EACH)
#define SORT_BLOCKS ((LAUNCH_0 + SORT_BLOCK - 1) / SORT_BLOCK)
#define SORT_COUNTS (3 * LAUNCH_0)
#define SORT_END (SORT_COUNTS + 16 * SORT_BLOCKS)
