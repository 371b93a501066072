// Runs a product through shared memory: a work group owns a tile of TILE_M x TILE_N outputs, the next
// round of both factors is fetched while the present one is multiplied. SLICES > 1: so many invocations
// share PER_M x PER_N outputs, each having its own part of every round's depth; at the end they add up their
// sums, SHARE fours of each slice at a time, and each finishes some of them.
#include "product_multiply.glsl"
#include "last_group.glsl"

#if SHARED_TILES
// Fours of sums that a slice finishes, and which they are.
#define OWN (SUMS / SLICES)
#define OWNED(slice, j) ((j) / SHARE * SHARE * SLICES + (slice) * SHARE + (j) % SHARE)
// Parts the last work group reads before it adds the first, so that their latencies overlap.
#define AHEAD (OWN >= 16 ? 1 : 16 / OWN)

// Columns and rows of quads: which of the tile's outputs an invocation of a slice has. Lanes of a processor
// form rectangles, so that together they read few different cells of shared memory.
ivec2 spot(int mine) {
#if defined(PARTIAL_SUMS)
    return ivec2(mine % THREADS_N, mine / THREADS_N);
#else
    int block = mine >> 5, lane = mine & 31, wide = lane >> 1 & 7, high = (lane & 1) + (lane >> 4) * 2;
#if THREADS_N % 8 == 0
    return ivec2(block % (THREADS_N / 8) * 8 + wide, block / (THREADS_N / 8) * 4 + high);
#else
    return ivec2(block % (THREADS_N / 4) * 4 + high, block / (THREADS_N / 4) * 8 + wide);
#endif
#endif
}

#if SLICES > 1
vec4 total[OWN];

// Every slice hands the others what they finish and adds what it is handed, in the order of the slices.
void add_slices(int slice, int mine) {
    for (int first = 0; first < OWN; first += SHARE) {
        for (int to = 0; to < SLICES; ++to) {
            int at = (to * (SLICES - 1) + slice - (slice > to ? 1 : 0)) * SHARE;
            for (int j = 0; j < SHARE; ++j) {
                if (to != slice) tile_rounds[(at + j) * SLICE_SIZE + mine] = sum[OWNED(to, first + j)];
                else total[first + j] = sum[OWNED(to, first + j)];
            }
        }
        barrier();
        for (int k = 0; k < (SLICES - 1) * SHARE; ++k) {
            int at = slice * (SLICES - 1) * SHARE + k;
            total[first + k % SHARE] += tile_rounds[at * SLICE_SIZE + mine];
        }
        barrier();
    }
}
#else
#define total sum
#endif

#if JOINS
// Each part's sums wait in scratch storage; the work group that comes last at the tile adds them up, in the
// order of the parts. Returns whether this is the one.
bool join_parts(Work work, int lane) {
    int across = (product_cols() + TILE_N - 1) / TILE_N, down = (product_rows() + TILE_M - 1) / TILE_M;
    int tile = (product_batch * down + work.row / TILE_M) * across + work.col / TILE_N;
    int first = tile * LAUNCH_0 * OWN * GROUP_SIZE + lane;
    for (int e = 0; e < OWN; ++e) scratch[first + (work.part * OWN + e) * GROUP_SIZE] = total[e];
    if (!arrived_last(tile)) return false;
    for (int e = 0; e < OWN; ++e) total[e] = vec4(0.0);
    for (int part = 0; part < LAUNCH_0; part += AHEAD) {
        vec4 found[AHEAD * OWN];
        for (int e = 0; e < AHEAD * OWN; ++e) {
            found[e] = scratch[first + min(part * OWN + e, LAUNCH_0 * OWN - 1) * GROUP_SIZE];
        }
        for (int ahead = 0; ahead < AHEAD; ++ahead) {
            if (part + ahead >= LAUNCH_0) break;
            for (int e = 0; e < OWN; ++e) total[e] += found[ahead * OWN + e];
        }
    }
    return true;
}
#endif

void main() {
    Work work = work_of(GROUP);
    if (product_batch >= product_batches()) return;
    int lane = int(gl_LocalInvocationIndex);
    int slice = int(gl_LocalInvocationIndex / uint(SLICE_SIZE)), mine = lane - slice * SLICE_SIZE;
    ivec2 at = spot(mine);
    for (int e = 0; e < SUMS; ++e) sum[e] = vec4(0.0);
    prepare(work);
    if (HAS_DEPTH(work)) {
        fetch(work.first, work.last);
        keep(0, work.first, work.last);
    }
    END_ROUND;
    int left = slice * (SLICE_DEPTH / 4) * LEFT_STEP + at.y;
    int right = 2 * LEFT_ROOM + slice * (SLICE_DEPTH / 4) * RIGHT_STEP + at.x;
    multiply_rounds(work, left, right);
#if SLICES > 1
    add_slices(slice, mine);
#endif
#if JOINS
    if (!join_parts(work, lane)) return;
#endif
    for (int j = 0; j < OWN; ++j) {
        int e = OWNED(slice, j), m = e / (PER_N / 4), q = e % (PER_N / 4);
        int row = work.row + (at.y + m / 4 * THREADS_M) * 4 + m % 4;
        put_product(work, row, work.col + (at.x + q * THREADS_N) * 4, total[j]);
    }
    LEAVE_SUMS((FORMER_ROWS + work.row) / TILE_M, work.col + at.x * 4);
}
#endif
