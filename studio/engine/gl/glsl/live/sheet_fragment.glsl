// live sheet: colours of a tensor's elements, read from a snapshot in storage where it lies.
#include "live_cells.glsl"

layout(std430, binding = 0) readonly buffer source_block { uint source_words[]; };
layout(std430, binding = 1) readonly buffer palette_block { uint palette[]; };
layout(std140, binding = 0) uniform View {
    ivec4 first;    // type, base, tiles across, cells between tiles
    ivec4 down;     // tiles, their stride; rows, their stride
    ivec4 side;     // columns, their stride; channels, their stride
    ivec4 block;    // rows and columns of a cell; which element stands for it; height of the target
    vec4 place;     // left and top of the sheet, width and height of a cell, in pixels
    vec4 range;     // values of the first and last colour; colours per lifted unit; lift
};
layout(location = 0) out vec4 colour;

const int LARGEST = 0, GREATEST = 1, LEAST = 2;
const int EMPTY = 256, UNDER = 257, OVER = 258, NAN = 259, STRIPE = 260, PLUS = 261, MINUS = 262,
          GROUND = 263;

uint live_word(int word) { return source_words[word]; }

vec4 entry(int k) { return unpackUnorm4x8(palette[k]); }

// What stands for a cell, and the marks of all its elements.
float chosen(int corner, ivec2 cell, out uint marks) {
    int type = first.x;
    float low = INFINITE, high = -INFINITE;
    marks = 0u;
    int last_row = min((cell.y + 1) * block.x, down.z);
    int last_column = min((cell.x + 1) * block.y, side.x);
    for (int r = cell.y * block.x; r < last_row; ++r) {
        for (int c = cell.x * block.y; c < last_column; ++c) {
            uint bits = live_bits(type, corner + r * down.w + c * side.y);
            uint mark = live_mark(type, bits);
            marks |= mark;
            if (mark == LIVE_FINITE) {
                float value = live_number(type, bits);
                if (value < low) low = value;
                if (value > high) high = value;
            }
        }
    }
    if (block.z == GREATEST) return high;
    if (block.z == LEAST) return low;
    return abs(low) > abs(high) ? low : high;
}

vec4 marked(uint marks, vec2 inside, vec2 size) {
    bool large = min(size.x, size.y) >= 6.0;
    vec2 at = floor(inside * size);
    if ((marks & LIVE_NAN) != 0u) {
        return large && mod(at.x + at.y, 4.0) < 1.0 ? entry(STRIPE) : entry(NAN);
    }
    bool up = (marks & LIVE_PLUS) != 0u;
    if (!large) return entry(up ? PLUS : MINUS);
    float tall = up ? inside.y : 1.0 - inside.y;
    bool wedge = abs(inside.x - 0.5) <= 0.5 * tall;
    return wedge ? entry(up ? PLUS : MINUS) : entry(GROUND);
}

// The number of a value's colour; the ends are compared first, so that no infinity is converted.
int shade(float value) {
    if (value <= range.x) return 0;
    if (value >= range.y) return 255;
    return int(floor((value * range.w - range.x * range.w) * range.z + 0.5));
}

// A value's colour; one outside the range is marked in a corner, or all over where cells are small.
vec4 mapped(float value, vec2 inside, vec2 size) {
    bool under = value < range.x, over = value > range.y;
    bool corner = min(size.x, size.y) < 6.0 || inside.x + inside.y < 0.5;
    return entry((under || over) && corner ? (under ? UNDER : OVER) : shade(value));
}

void main() {
    vec2 pixel = vec2(gl_FragCoord.x, float(block.w) - gl_FragCoord.y);
    vec2 at = (pixel - place.xy) / place.zw;
    colour = entry(EMPTY);
    int rows = (down.z + block.x - 1) / block.x, columns = (side.x + block.y - 1) / block.y;
    if (at.x < 0.0 || at.y < 0.0 || rows == 0 || columns == 0) return;
    ivec2 cell = ivec2(floor(at));
    ivec2 pitch = ivec2(columns + first.w, rows + first.w);
    ivec2 tile = cell / pitch;
    ivec2 inner = cell - tile * pitch;
    int number = tile.y * first.z + tile.x;
    if (tile.x >= first.z || number >= down.x || inner.x >= columns || inner.y >= rows) return;
    int corner = first.y + number * down.y;
    vec2 inside = at - floor(at);
    uint marks, all = 0u;
    vec4 found = vec4(0.0, 0.0, 0.0, 1.0);
    for (int k = 0; k < side.z; ++k) {
        float value = chosen(corner + k * side.w, inner, marks);
        all |= marks;
        if (side.z == 1) {
            if ((marks & ~LIVE_FINITE) == 0u) found = mapped(value, inside, place.zw);
        } else {
            found[k] = float(shade(value)) / 255.0;
        }
    }
    colour = (all & ~LIVE_FINITE) != 0u ? marked(all, inside, place.zw) : found;
}
