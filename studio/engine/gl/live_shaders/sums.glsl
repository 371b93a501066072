// live sums: sums of d = (x - centre) / half range, which is -1 to 1 and cannot overflow; in the
// second round of (d - mean)^2, with the histogram.
shared uint bins[64];

const int RANGE = 0, FIRST = 12, BINS = 36, SCALE = 100;

void main() {
    int type = numbers[0], count = numbers[1], threads = numbers[5], into = numbers[6];
    bool second = numbers[7] != 0;
    int t = THREAD;
    float low = uintBitsToFloat(parts[RANGE + LOW]), high = uintBitsToFloat(parts[RANGE + HIGH]);
    bool any = parts[RANGE + FINITES] > 0u;
    float centre = any ? 0.5 * low + 0.5 * high : 0.0, reach = any ? 0.5 * high - 0.5 * low : 0.0;
    float share = reach > 0.0 ? 1.0 / reach : 0.0;
    if (is_bad(share)) share = 0.0;
    if (t == 0 && !second) {
        parts[SCALE] = floatBitsToUint(centre);
        parts[SCALE + 1] = floatBitsToUint(reach);
    }
    float mean = 0.0;
    if (second && any) {
        float sum = uintBitsToFloat(parts[FIRST + SUM]) + uintBitsToFloat(parts[FIRST + LOST]);
        mean = sum / float(parts[RANGE + FINITES]);
    }
    bins[gl_LocalInvocationIndex] = 0u;
    barrier();
    LongSum total = LongSum(0.0, 0.0);
    for (int i = t; t < threads && i < count; i += threads) {
        uint bits = live_bits(type, live_cell(i));
        if (live_mark(type, bits) != LIVE_FINITE) continue;
        float d = (live_number(type, bits) - centre) * share;
        if (!second) {
            total = plus(total, d);
            continue;
        }
        total = plus(total, (d - mean) * (d - mean));
        int bin = reach > 0.0 ? int((0.5 * d + 0.5) * 64.0) : 0;
        atomicAdd(bins[bin < 0 ? 0 : bin > 63 ? 63 : bin], 1u);
    }
    barrier();
    if (second && bins[gl_LocalInvocationIndex] > 0u) {
        atomicAdd(parts[BINS + int(gl_LocalInvocationIndex)], bins[gl_LocalInvocationIndex]);
    }
    if (t >= threads) return;
    int at = into + t * PART;
    for (int k = 0; k < SUM; ++k) parts[at + k] = 0u;
    parts[at + LOW] = floatBitsToUint(INFINITE);
    parts[at + HIGH] = floatBitsToUint(-INFINITE);
    parts[at + SUM] = floatBitsToUint(total.sum);
    parts[at + LOST] = floatBitsToUint(total.lost);
}
