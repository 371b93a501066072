// Joins pairs of sums that lie in parts, of all COLS columns, in every work group for itself and in the
// same order everywhere: part p of a column c has its pair in scratch[0][p][c] and scratch[1][p][c],
// LAUNCH_0 parts, read as fours. A kernel says how a part is added (`origin` is the first of part 0) and
// what is made of the sums of four columns. JOIN_LANES, a power of two, invocations share four columns.
// All invocations must call join_parts(); then the columns' two results are first_of and second_of.
#pragma optionNV(unroll all)
#define PART_QUADS (COLS / 4)
// Parts an invocation reads before it adds the first, so that their latencies overlap.
#define PARTS_AHEAD 4
// Sums an invocation adds up between two barriers at most.
#define FAN 8

void add_part(inout vec4 first, inout vec4 second, int part, vec4 a, vec4 b, vec4 origin);
void finish_columns(inout vec4 first, inout vec4 second, int c, vec4 origin);

shared vec4 first_sums[GROUP_SIZE];
shared vec4 second_sums[GROUP_SIZE];

void join_parts() {
    int local = int(gl_LocalInvocationIndex), quad = local % PART_QUADS, lane = local / PART_QUADS;
    vec4 first = vec4(0.0), second = vec4(0.0), origin = scratch[quad];
    for (int part = lane; part < LAUNCH_0 && lane < JOIN_LANES; part += PARTS_AHEAD * JOIN_LANES) {
        vec4 a[PARTS_AHEAD], b[PARTS_AHEAD];
        for (int k = 0; k < PARTS_AHEAD; ++k) {
            int at = min(part + k * JOIN_LANES, LAUNCH_0 - 1) * PART_QUADS + quad;
            a[k] = scratch[at];
            b[k] = scratch[LAUNCH_0 * PART_QUADS + at];
        }
        for (int k = 0; k < PARTS_AHEAD; ++k) {
            int own = part + k * JOIN_LANES;
            if (own < LAUNCH_0) add_part(first, second, own, a[k], b[k], origin);
        }
    }
    first_sums[local] = first;
    second_sums[local] = second;
    barrier();
    for (int left = JOIN_LANES; left > 1; left = max(left / FAN, 1)) {
        int kept = max(left / FAN, 1);
        if (lane < kept) {
            for (int k = lane + kept; k < left; k += kept) {
                first += first_sums[k * PART_QUADS + quad];
                second += second_sums[k * PART_QUADS + quad];
            }
            first_sums[local] = first;
            second_sums[local] = second;
        }
        barrier();
    }
    if (lane == 0) {
        finish_columns(first, second, quad * 4, origin);
        first_sums[quad] = first;
        second_sums[quad] = second;
    }
    barrier();
}

vec4 first_of(int c) { return first_sums[c / 4]; }
vec4 second_of(int c) { return second_sums[c / 4]; }
