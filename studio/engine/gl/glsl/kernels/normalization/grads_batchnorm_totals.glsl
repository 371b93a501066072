// grads_batchnorm_totals: adds the parts of both sums up for every channel: dbeta = sum of dy,
// dgamma = sum of dy (x - mean) / deviation; both also lie behind the parts in scratch storage for dx.
// Parts that are an operand (HAS_STATS) are of dy (x - mean), and the totals lie at the beginning.
#include "deviation.glsl"
#if HAS_STATS
#define PART(at) stats_at(at)
#define TOTALS 0
#else
#define PART(at) scratch[at]
#define TOTALS (2 * LAUNCH_0 * COLS)
#endif
#if LANES > 1
shared vec2 lane_values[GROUP_SIZE];
#endif
void main() {
    int parts = LAUNCH_0;
    int each = GROUP_SIZE / LANES;
    int local = int(gl_LocalInvocationIndex);
    int c = GROUP * each + local % each, lane = local / each;
    vec2 sum = vec2(0.0);
    if (c < COLS) {
        for (int part = lane; part < parts; part += LANES) {
            int at = part * COLS + c;
            sum += vec2(PART(at), PART(parts * COLS + at));
        }
    }
#if LANES > 1
    lane_values[local] = sum;
    barrier();
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach) lane_values[local] += lane_values[local + reach * each];
        barrier();
    }
    sum = lane_values[local];
#endif
    if (lane != 0 || c >= COLS) return;
#if HAS_STATS
    sum.y = divided(sum.y, c);
#endif
    scratch[TOTALS + c] = sum.x;
    scratch[TOTALS + COLS + c] = sum.y;
#if WANT_DBETA
    store_dbeta_at(c, sum.x);
#endif
#if WANT_DGAMMA
    store_dgamma_at(c, sum.y);
#endif
}
