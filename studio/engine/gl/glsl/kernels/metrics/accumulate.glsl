// accumulate: sums[:, k] += sum of weight * x (x * x) over LAUNCH_0 rows, sums[:, COLS] += sum of the
// weights; a work group a column, in a fixed order.
#include "sum_pair.glsl"
shared float lane_sums[GROUP_SIZE];
shared float lane_rests[GROUP_SIZE];

// x * x as a float and what rounding took from it (Dekker 1971).
LongSum squared_exactly(float x) {
    precise float wide = 4097.0 * x;
    precise float high = wide - (wide - x);
    precise float low = x - high;
    precise float product = x * x;
    precise float rest = ((high * high - product) + 2.0 * high * low) + low * low;
    return LongSum(product, is_bad(rest) ? 0.0 : rest);
}

LongSum term(int r, int c) {
#if HAS_WEIGHTS
    float weight = weights_at(r / PER_WEIGHT);
#else
    float weight = 1.0;
#endif
    if (c == COLS) return LongSum(weight, 0.0);
    float x = x_at(r * COLS + c);
#if SQUARE
    LongSum found = squared_exactly(x);
#else
    LongSum found = LongSum(x, 0.0);
#endif
    return LongSum(weight * found.sum, weight * found.lost);
}

void main() {
    int c = GROUP, lane = int(gl_LocalInvocationIndex);
    LongSum sum = LongSum(0.0, 0.0);
    for (int r = lane; r < LAUNCH_0; r += GROUP_SIZE) sum = with_sum(sum, term(r, c));
    lane_sums[lane] = sum.sum;
    lane_rests[lane] = sum.lost;
    barrier();
    for (int reach = GROUP_SIZE / 2; reach > 0; reach /= 2) {
        if (lane < reach) {
            LongSum other = LongSum(lane_sums[lane + reach], lane_rests[lane + reach]);
            sum = with_sum(LongSum(lane_sums[lane], lane_rests[lane]), other);
            lane_sums[lane] = sum.sum;
            lane_rests[lane] = sum.lost;
        }
        barrier();
    }
    if (lane > 0 || c > COLS) return;
    sum = settled(with_sum(LongSum(sums(0, c), sums(1, c)), LongSum(lane_sums[0], lane_rests[0])));
    store_sums(0, c, sum.sum);
    store_sums(1, c, sum.lost);
}
