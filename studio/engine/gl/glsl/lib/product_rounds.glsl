// Brings both factors of a tile to shared memory, TILE_K of the depth a round, in 4x4 blocks. What was
// read waits in registers as it was read: it is turned, and what there is not becomes 0, only on its way
// to shared memory. Whatever touches it sooner waits for memory before the present round is multiplied.
#include "product.glsl"

#if SHARED_TILES
// Arrays must live in registers: NVIDIA keeps them there only if the loops over them are unrolled.
#pragma optionNV(unroll all)
#define LEFT_QUADS (TILE_M / 4)
#define RIGHT_QUADS (TILE_N / 4)
#define DEPTH_QUADS (TILE_K / 4)
#define LEFT_BLOCKS (LEFT_QUADS * DEPTH_QUADS)
#define BLOCKS (LEFT_BLOCKS + RIGHT_QUADS * DEPTH_QUADS)
#define FETCHES ((BLOCKS + GROUP_SIZE - 1) / GROUP_SIZE)

// Cells of a quad of depths: four lines, and a shift against the next four by as much as it takes for
// blocks that neighbouring invocations turn to meet other banks. Then a depth's line, and a round's room.
#define SHIFT (DEPTH_QUADS > 8 ? 1 : 8 / DEPTH_QUADS)
#define LEFT_STEP (4 * LEFT_QUADS + SHIFT * LEFT_ALONG_K)
#define RIGHT_STEP (4 * RIGHT_QUADS + SHIFT * RIGHT_ALONG_K)
#define LEFT_LINE(d) ((d) / 4 * LEFT_STEP + (d) % 4 * LEFT_QUADS)
#define RIGHT_LINE(d) ((d) / 4 * RIGHT_STEP + (d) % 4 * RIGHT_QUADS)
#define LEFT_ROOM (DEPTH_QUADS * LEFT_STEP - SHIFT * LEFT_ALONG_K)
#define RIGHT_ROOM (DEPTH_QUADS * RIGHT_STEP - SHIFT * RIGHT_ALONG_K)

// NVIDIA's barrier() makes shared memory visible, as the language has it; asking once more costs 4 %.
#ifdef GL_NV_gpu_shader5
#define END_ROUND barrier()
#else
#define END_ROUND memoryBarrierShared(); barrier()
#endif

// Two rounds of the left factor, then two of the right one.
shared vec4 tile_rounds[2 * (LEFT_ROOM + RIGHT_ROOM)];

// The blocks this invocation fetches each round: their first steps, what was read, and where of the left.
ivec4 lines[FETCHES * 4];
vec4 held[FETCHES * 4];
int cells[FETCHES * 4];

uint block_of(int f) { return gl_LocalInvocationIndex + uint(f * GROUP_SIZE); }

// Quad of rows or columns, and quad of depths. Neighbouring invocations fetch what lies together.
ivec2 left_place(uint block) {
    return LEFT_ALONG_K == 1 ? ivec2(block / uint(DEPTH_QUADS), block % uint(DEPTH_QUADS))
                             : ivec2(block % uint(LEFT_QUADS), block / uint(LEFT_QUADS));
}

ivec2 right_place(uint block) {
    block -= uint(LEFT_BLOCKS);
    return RIGHT_ALONG_K == 1 ? ivec2(block / uint(DEPTH_QUADS), block % uint(DEPTH_QUADS))
                              : ivec2(block % uint(RIGHT_QUADS), block / uint(RIGHT_QUADS));
}

void prepare(Work work) {
    for (int f = 0; f < FETCHES; ++f) {
        uint block = block_of(f);
        if (block < uint(LEFT_BLOCKS)) {
            int m = work.row + left_place(block).x * 4;
            for (int e = 0; e < 4; ++e) lines[f * 4 + e] = left_row(within_rows(m + e));
        } else if (block < uint(BLOCKS)) {
            int n = work.col + right_place(block).x * 4;
            for (int e = 0; e < 4; ++e) lines[f * 4 + e] = right_col(within_cols(n + e));
        }
    }
}

#if EVEN_DEPTH
#define WITHIN(k, most) (k)
#else
#define WITHIN(k, most) min(k, most)
#endif

void fetch_left(int f, int k, int last) {
    for (int e = 0; e < 4; ++e) {
#if LEFT_VEC
        int row = LEFT_ALONG_K == 1 ? f * 4 + e : f * 4;
        int depth = LEFT_ALONG_K == 1 ? WITHIN(k, last - 4) : WITHIN(k + e, last - 1);
        cells[f * 4 + e] = find_left(lines[row], left_depth(depth));
        held[f * 4 + e] = take_left4(LEFT_GAPS == 1 ? max(cells[f * 4 + e], 0) : cells[f * 4 + e]);
#else
        ivec4 depth = left_depth(WITHIN(k + e, last - 1));
        for (int j = 0; j < 4; ++j) {
            int cell = find_left(lines[f * 4 + j], depth);
            float value = take_left(LEFT_GAPS == 1 ? max(cell, 0) : cell);
            held[f * 4 + e][j] = LEFT_GAPS == 1 && cell < 0 ? 0.0 : value;
        }
#endif
    }
}

void fetch_right(int f, int k, int last) {
    for (int e = 0; e < 4; ++e) {
#if RIGHT_VEC
        int col = RIGHT_ALONG_K == 1 ? f * 4 + e : f * 4;
        int depth = RIGHT_ALONG_K == 1 ? WITHIN(k, last - 4) : WITHIN(k + e, last - 1);
        held[f * 4 + e] = take_right4(find_right(lines[col], right_depth(depth)));
#else
        ivec4 depth = right_depth(WITHIN(k + e, last - 1));
        for (int j = 0; j < 4; ++j) held[f * 4 + e][j] = take_right(find_right(lines[f * 4 + j], depth));
#endif
    }
}

void fetch(int k, int last) {
    for (int f = 0; f < FETCHES; ++f) {
        uint block = block_of(f);
        if (block < uint(LEFT_BLOCKS)) fetch_left(f, k + left_place(block).y * 4, last);
        else if (block < uint(BLOCKS)) fetch_right(f, k + right_place(block).y * 4, last);
    }
}

// Four neighbours of depth e of a block, for the block's four rows or columns.
vec4 kept(int f, int e, bool turned) {
    if (!turned) return held[f * 4 + e];
    return vec4(held[f * 4][e], held[f * 4 + 1][e], held[f * 4 + 2][e], held[f * 4 + 3][e]);
}

vec4 kept_left(int f, int e) {
    vec4 four = kept(f, e, LEFT_VEC == 1 && LEFT_ALONG_K == 1);
#if LEFT_GAPS && LEFT_VEC
    for (int j = 0; j < 4; ++j) {
        four[j] = cells[LEFT_ALONG_K == 1 ? f * 4 + j : f * 4 + e] < 0 ? 0.0 : four[j];
    }
#endif
    return four;
}

vec4 kept_right(int f, int e) { return kept(f, e, RIGHT_VEC == 1 && RIGHT_ALONG_K == 1); }

void keep(int half_tile, int k, int last) {
    for (int f = 0; f < FETCHES; ++f) {
        uint block = block_of(f);
        if (block < uint(LEFT_BLOCKS)) {
            ivec2 place = left_place(block);
            int at = half_tile * LEFT_ROOM + place.y * LEFT_STEP + place.x, rest = last - k - place.y * 4;
            for (int e = 0; e < 4; ++e) {
                tile_rounds[at + e * LEFT_QUADS] = EVEN_DEPTH == 1 || e < rest ? kept_left(f, e) : vec4(0.0);
            }
        } else if (block < uint(BLOCKS)) {
            ivec2 place = right_place(block);
            int at = 2 * LEFT_ROOM + half_tile * RIGHT_ROOM + place.y * RIGHT_STEP + place.x;
            int rest = last - k - place.y * 4;
            for (int e = 0; e < 4; ++e) {
                tile_rounds[at + e * RIGHT_QUADS] = EVEN_DEPTH == 1 || e < rest ? kept_right(f, e) : vec4(0.0);
            }
        }
    }
}
#endif
