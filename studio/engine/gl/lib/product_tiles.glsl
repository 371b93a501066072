// Runs a product through shared memory: a work group owns a tile of TILE_M x TILE_N outputs, the next
// round of both factors is fetched while the present one is multiplied.
#include "product.glsl"
#include "last_group.glsl"

#if SHARED_TILES
// Sums must live in registers: NVIDIA keeps an array there only if its loops are unrolled.
#pragma optionNV(unroll all)
#define LEFT_QUADS (TILE_M / 4)
#define RIGHT_QUADS (TILE_N / 4)
#define DEPTH_QUADS (TILE_K / 4)
#define LEFT_BLOCKS (LEFT_QUADS * DEPTH_QUADS)
#define BLOCKS (LEFT_BLOCKS + RIGHT_QUADS * DEPTH_QUADS)
#define FETCHES ((BLOCKS + GROUP_SIZE - 1) / GROUP_SIZE)
#define SUMS (PER_M * PER_N / 4)
// Parts the last work group reads before it adds the first, so that their latencies overlap.
#define AHEAD (SUMS >= 16 ? 1 : 16 / SUMS)
#define THREADS_M (TILE_M / PER_M)
#define THREADS_N (TILE_N / PER_N)

shared vec4 left_tile[2 * TILE_K * LEFT_QUADS];
shared vec4 right_tile[2 * TILE_K * RIGHT_QUADS];

// The 4x4 blocks this invocation fetches each round: which, their first steps, what was read.
ivec4 lines[FETCHES * 4];
mat4 held[FETCHES];

// Neighbouring invocations fetch what lies together in memory.
ivec2 left_place(int block) {
    return LEFT_ALONG_K == 1 ? ivec2(block / DEPTH_QUADS, block % DEPTH_QUADS)
                             : ivec2(block % LEFT_QUADS, block / LEFT_QUADS);
}

ivec2 right_place(int block) {
    return RIGHT_ALONG_K == 1 ? ivec2(block / DEPTH_QUADS, block % DEPTH_QUADS)
                              : ivec2(block % RIGHT_QUADS, block / RIGHT_QUADS);
}

// Blocks of four depths are turned against each other so that their rows meet other banks; `quads`,
// a power of two, is how many quads there are.
int turned(int quad, int depth_quad, int quads) { return quad ^ (depth_quad % 4 * 2 & quads - 1); }

void prepare(Work work) {
    for (int f = 0; f < FETCHES; ++f) {
        int block = int(gl_LocalInvocationIndex) + f * GROUP_SIZE;
        if (block < LEFT_BLOCKS) {
            int m = work.row + left_place(block).x * 4;
            for (int e = 0; e < 4; ++e) lines[f * 4 + e] = left_row(within_rows(m + e));
        } else if (block < BLOCKS) {
            int n = work.col + right_place(block - LEFT_BLOCKS).x * 4;
            for (int e = 0; e < 4; ++e) lines[f * 4 + e] = right_col(within_cols(n + e));
        }
    }
}

void fetch(int k, int last) {
    for (int f = 0; f < FETCHES; ++f) {
        int block = int(gl_LocalInvocationIndex) + f * GROUP_SIZE, at = f * 4;
        if (block < LEFT_BLOCKS) {
            held[f] = left_matrix(lines[at], lines[at + 1], lines[at + 2], lines[at + 3],
                                 k + left_place(block).y * 4, last);
        } else if (block < BLOCKS) {
            held[f] = right_matrix(lines[at], lines[at + 1], lines[at + 2], lines[at + 3],
                                  k + right_place(block - LEFT_BLOCKS).y * 4, last);
        }
    }
}

void keep(int half_tile) {
    for (int f = 0; f < FETCHES; ++f) {
        int block = int(gl_LocalInvocationIndex) + f * GROUP_SIZE;
        if (block < LEFT_BLOCKS) {
            ivec2 place = left_place(block);
            int at = (half_tile * TILE_K + place.y * 4) * LEFT_QUADS + turned(place.x, place.y, LEFT_QUADS);
            for (int e = 0; e < 4; ++e) left_tile[at + e * LEFT_QUADS] = held[f][e];
        } else if (block < BLOCKS) {
            ivec2 place = right_place(block - LEFT_BLOCKS);
            int at = (half_tile * TILE_K + place.y * 4) * RIGHT_QUADS + turned(place.x, place.y, RIGHT_QUADS);
            for (int e = 0; e < 4; ++e) right_tile[at + e * RIGHT_QUADS] = held[f][e];
        }
    }
}

void main() {
    Work work = work_of(GROUP);
    if (product_batch >= product_batches()) return;
    int lane = int(gl_LocalInvocationIndex);
    int tx = lane % THREADS_N, ty = lane / THREADS_N;
    vec4 sum[SUMS];
    for (int e = 0; e < SUMS; ++e) sum[e] = vec4(0.0);
    prepare(work);
    fetch(work.first, work.last);
    keep(0);
    memoryBarrierShared();
    barrier();
    int half_tile = 0;
    for (int k = work.first; k < work.last; k += TILE_K) {
        bool more = k + TILE_K < work.last;
        if (more) fetch(k + TILE_K, work.last);
        for (int d = 0; d < TILE_K; ++d) {
            vec4 left[PER_M / 4], right[PER_N / 4];
            int depth = half_tile * TILE_K + d;
            for (int p = 0; p < PER_M / 4; ++p) {
                left[p] = left_tile[depth * LEFT_QUADS + turned(ty + p * THREADS_M, d / 4, LEFT_QUADS)];
            }
            for (int q = 0; q < PER_N / 4; ++q) {
                right[q] = right_tile[depth * RIGHT_QUADS + turned(tx + q * THREADS_N, d / 4, RIGHT_QUADS)];
            }
            for (int m = 0; m < PER_M; ++m) {
                for (int q = 0; q < PER_N / 4; ++q) {
                    sum[m * (PER_N / 4) + q] += left[m / 4][m % 4] * right[q];
                }
            }
        }
        half_tile = 1 - half_tile;
        if (more) keep(half_tile);
        memoryBarrierShared();
        barrier();
    }
#if JOINS
    // Each part's sums wait in scratch storage; the work group that comes last at the tile adds them up,
    // in the order of the parts.
    int tile = work.row / TILE_M * ((product_cols() + TILE_N - 1) / TILE_N) + work.col / TILE_N;
    tile += product_batch * ((product_rows() + TILE_M - 1) / TILE_M) * ((product_cols() + TILE_N - 1) / TILE_N);
    int first = tile * LAUNCH_0 * SUMS * GROUP_SIZE + lane;
    for (int e = 0; e < SUMS; ++e) scratch[first + (work.part * SUMS + e) * GROUP_SIZE] = sum[e];
    if (!arrived_last(tile)) return;
    for (int e = 0; e < SUMS; ++e) sum[e] = vec4(0.0);
    for (int part = 0; part < LAUNCH_0; part += AHEAD) {
        vec4 found[AHEAD * SUMS];
        for (int e = 0; e < AHEAD * SUMS; ++e) {
            found[e] = scratch[first + min(part * SUMS + e, LAUNCH_0 * SUMS - 1) * GROUP_SIZE];
        }
        for (int a = 0; a < AHEAD; ++a) {
            if (part + a >= LAUNCH_0) break;
            for (int e = 0; e < SUMS; ++e) sum[e] += found[a * SUMS + e];
        }
    }
#endif
    for (int m = 0; m < PER_M; ++m) {
        int row = work.row + (ty + m / 4 * THREADS_M) * 4 + m % 4;
        for (int q = 0; q < PER_N / 4; ++q) {
            put_product(work, row, work.col + (tx + q * THREADS_N) * 4,
                        sum[m * (PER_N / 4) + q]);
        }
    }
    TALLY(work.row / TILE_M, work.col + tx * 4);
}
#endif
