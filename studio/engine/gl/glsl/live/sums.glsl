// live sums: sums of d = (x - centre) / half range, which is -1 to 1 and cannot overflow; in the
// second round of (d - mean)^2, with the histogram.
// Indices are worked out before they are used: NVIDIA's compiler (580.159) breaks on a choice inside
// the index of an atomic.
const int FIRST = 12, BINS = 36, SCALE = 100;

shared uint bins[64];

void main() {
    int type = numbers[0], count = numbers[1], threads = numbers[5], into = numbers[6];
    bool second = numbers[7] != 0;
    int t = THREAD, lane = int(gl_LocalInvocationIndex);
    uint finites = parts[FINITES];
    float low = uintBitsToFloat(parts[LOW]), high = uintBitsToFloat(parts[HIGH]);
    float centre = 0.0, reach = 0.0, lift = 1.0, scale = 0.0, mean = 0.0;
    if (finites > 0u) {
        centre = 0.5 * low + 0.5 * high;
        reach = 0.5 * high - 0.5 * low;
    }
    // By powers of two into the middle of the range: devices take 1/3e38 for zero.
    if (reach > 1.0e18) lift = 5.421010862427522e-20;
    if (reach < 1.0e-18) lift = 1.8446744073709552e19;
    if (reach * lift > 0.0) scale = 1.0 / (reach * lift);
    if (is_bad(scale)) scale = 0.0;
    if (t == 0 && !second) {
        parts[SCALE] = floatBitsToUint(centre);
        parts[SCALE + 1] = floatBitsToUint(reach);
    }
    if (second && finites > 0u) {
        float sum = uintBitsToFloat(parts[FIRST + SUM]) + uintBitsToFloat(parts[FIRST + LOST]);
        mean = sum / float(finites);
    }
    bins[lane] = 0u;
    barrier();
    LongSum total = LongSum(0.0, 0.0);
    if (t < threads) {
        for (int i = t; i < count; i += threads) {
            uint bits = live_bits(type, live_cell(i));
            if (live_mark(type, bits) == LIVE_FINITE) {
                float d = (live_number(type, bits) - centre) * lift * scale;
                if (second) {
                    float apart = d - mean;
                    total = plus(total, apart * apart);
                    int bin = 0;
                    if (reach > 0.0) bin = int((0.5 * d + 0.5) * 64.0);
                    if (bin < 0) bin = 0;
                    if (bin > 63) bin = 63;
                    atomicAdd(bins[bin], 1u);
                } else {
                    total = plus(total, d);
                }
            }
        }
    }
    barrier();
    uint here = bins[lane];
    int place = BINS + lane;
    if (second && here > 0u) atomicAdd(parts[place], here);
    if (t >= threads) return;
    int at = into + t * PART;
    parts[at + NANS] = 0u;
    parts[at + PLUSES] = 0u;
    parts[at + MINUSES] = 0u;
    parts[at + ZEROS] = 0u;
    parts[at + FINITES] = 0u;
    parts[at + LOW] = floatBitsToUint(INFINITE);
    parts[at + HIGH] = floatBitsToUint(-INFINITE);
    parts[at + LOW_INT] = 0u;
    parts[at + HIGH_INT] = 0u;
    parts[at + SUM] = floatBitsToUint(total.sum);
    parts[at + LOST] = floatBitsToUint(total.lost);
}
