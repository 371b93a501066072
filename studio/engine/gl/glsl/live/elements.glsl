// live elements: an element of a tensor by its row-major index; shared by the passes of statistics.
#include "live_cells.glsl"
#include "long_sum.glsl"

layout(std430, binding = 0) readonly buffer source_block { uint source_words[]; };
layout(std430, binding = 1) buffer parts_block { uint parts[]; };
layout(std430, binding = 2) readonly buffer numbers_block { int numbers[]; };

// Words of a part: what one invocation found, or many after folding.
const int NANS = 0, PLUSES = 1, MINUSES = 2, ZEROS = 3, FINITES = 4;
const int LOW = 5, HIGH = 6, LOW_INT = 7, HIGH_INT = 8, SUM = 9, LOST = 10, PART = 12;

uint live_word(int word) { return source_words[word]; }

int live_cell(int i) {
    int rank = numbers[2], cell = numbers[3];
    if (numbers[4] != 0) return cell + i;
    for (int k = rank - 1; k >= 0; --k) {
        int size = numbers[8 + k];
        cell += (i % size) * numbers[16 + k];
        i /= size;
    }
    return cell;
}
