// Multiplies a tile's rounds, one after another. PIPELINED: an invocation reads what it multiplies next while
// it multiplies, across the end of a round as well, and no branch stands among the products, so that the
// compiler spreads reads of memory among them: better where two small work groups share a processor.
#include "product_rounds.glsl"

#if SHARED_TILES
#define SUMS (PER_M * PER_N / 4)
#define THREADS_M (TILE_M / PER_M)
#define THREADS_N (TILE_N / PER_N)
#define SLICE_SIZE (THREADS_M * THREADS_N)
#define SLICE_DEPTH (TILE_K / SLICES)

vec4 sum[SUMS];

#if PIPELINED
// What is multiplied now and next, in turn.
vec4 lefts[PER_M / 2], rights[PER_N / 2];

void take_turn(int turn, int left, int right) {
    for (int p = 0; p < PER_M / 4; ++p) lefts[turn * (PER_M / 4) + p] = tile_rounds[left + p * THREADS_M];
    for (int q = 0; q < PER_N / 4; ++q) rights[turn * (PER_N / 4) + q] = tile_rounds[right + q * THREADS_N];
}

void multiply_turn(int turn) {
    for (int m = 0; m < PER_M; ++m) {
        float one = lefts[turn * (PER_M / 4) + m / 4][m % 4];
        for (int q = 0; q < PER_N / 4; ++q) sum[m * (PER_N / 4) + q] += one * rights[turn * (PER_N / 4) + q];
    }
}

// Behind the last round a further one is fetched, of what there is, and not multiplied.
void multiply_rounds(Work work, int left, int right) {
    int half_tile = 0;
    take_turn(0, left, right);
    for (int k = work.first; k < work.last; k += TILE_K) {
        int l = left + half_tile * LEFT_ROOM, r = right + half_tile * RIGHT_ROOM, next = k + TILE_K;
        half_tile = 1 - half_tile;
        fetch(EVEN_DEPTH == 1 ? min(next, work.last - TILE_K) : next, work.last);
        for (int d = 0; d < SLICE_DEPTH; ++d) {
            if (d == SLICE_DEPTH - 2) keep(half_tile, next, work.last);
            if (d < SLICE_DEPTH - 1) {
                take_turn((d + 1) % 2, l + LEFT_LINE(d + 1), r + RIGHT_LINE(d + 1));
            } else {
                END_ROUND;
                take_turn(0, left + half_tile * LEFT_ROOM, right + half_tile * RIGHT_ROOM);
            }
            multiply_turn(d % 2);
        }
    }
    END_ROUND;
}
#else
// Multiplies a round; `left` and `right` are where the invocation's first four of each factor lie.
void multiply(int left, int right) {
    for (int d = 0; d < SLICE_DEPTH; ++d) {
        vec4 a[PER_M / 4], b[PER_N / 4];
        for (int p = 0; p < PER_M / 4; ++p) a[p] = tile_rounds[left + LEFT_LINE(d) + p * THREADS_M];
        for (int q = 0; q < PER_N / 4; ++q) b[q] = tile_rounds[right + RIGHT_LINE(d) + q * THREADS_N];
        for (int m = 0; m < PER_M; ++m) {
            for (int q = 0; q < PER_N / 4; ++q) sum[m * (PER_N / 4) + q] += a[m / 4][m % 4] * b[q];
        }
    }
}

void multiply_rounds(Work work, int left, int right) {
    int half_tile = 0;
    for (int k = work.first; k < work.last; k += TILE_K) {
        bool more = k + TILE_K < work.last;
        if (more) fetch(k + TILE_K, work.last);
        multiply(left + half_tile * LEFT_ROOM, right + half_tile * RIGHT_ROOM);
        half_tile = 1 - half_tile;
        if (more) keep(half_tile, k + TILE_K, work.last);
        END_ROUND;
    }
}
#endif
#endif
