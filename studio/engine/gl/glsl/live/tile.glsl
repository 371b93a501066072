// live tile: the elements of a sheet, or least, greatest and marks of blocks of them.
#include "live_cells.glsl"

layout(std430, binding = 0) readonly buffer source_block { uint source_words[]; };
layout(std430, binding = 1) writeonly buffer made_block { uint made[]; };
layout(std430, binding = 2) readonly buffer numbers_block { int numbers[]; };

uint live_word(int word) { return source_words[word]; }

void main() {
    int type = numbers[0], base = numbers[1], exact = numbers[2], into = numbers[3];
    ivec2 tiles = ivec2(numbers[4], numbers[5]);
    ivec2 rows = ivec2(numbers[6], numbers[7]);
    ivec2 columns = ivec2(numbers[8], numbers[9]);
    ivec2 channels = ivec2(numbers[10], numbers[11]);
    int down = numbers[12], across = numbers[13];
    int cell_rows = (rows.x + down - 1) / down, cell_columns = (columns.x + across - 1) / across;
    int i = THREAD;
    if (i >= tiles.x * cell_rows * cell_columns * channels.x) return;
    int left = i;
    int channel = left % channels.x;
    left /= channels.x;
    int column = left % cell_columns;
    left /= cell_columns;
    int row = left % cell_rows;
    int tile = left / cell_rows;
    int corner = base + tile * tiles.y + channel * channels.y;
    if (exact != 0) {
        made[into + i] = live_bits(type, corner + row * rows.y + column * columns.y);
        return;
    }
    float low = INFINITE, high = -INFINITE;
    uint marks = 0u;
    int last_row = min((row + 1) * down, rows.x), last_column = min((column + 1) * across, columns.x);
    for (int r = row * down; r < last_row; ++r) {
        for (int c = column * across; c < last_column; ++c) {
            uint bits = live_bits(type, corner + r * rows.y + c * columns.y);
            uint mark = live_mark(type, bits);
            marks |= mark;
            if (mark == LIVE_FINITE) {
                float value = live_number(type, bits);
                if (value < low) low = value;
                if (value > high) high = value;
            }
        }
    }
    if ((marks & LIVE_FINITE) == 0u) low = high = NOT_A_NUMBER;
    made[into + 3 * i] = floatBitsToUint(low);
    made[into + 3 * i + 1] = floatBitsToUint(high);
    made[into + 3 * i + 2] = marks;
}
