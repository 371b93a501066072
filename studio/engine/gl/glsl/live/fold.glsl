// live fold: each invocation joins parts t, t + threads, ... of `count` into one.
void main() {
    int count = numbers[1], threads = numbers[5], from = numbers[6], into = numbers[7];
    int t = THREAD;
    if (t >= threads) return;
    uint nans = 0u, pluses = 0u, minuses = 0u, zeros = 0u, finites = 0u;
    float low = INFINITE, high = -INFINITE;
    int low_int = 0x7fffffff, high_int = -0x7fffffff - 1;
    LongSum total = LongSum(0.0, 0.0);
    for (int i = t; i < count; i += threads) {
        int at = from + i * PART;
        nans += parts[at + NANS];
        pluses += parts[at + PLUSES];
        minuses += parts[at + MINUSES];
        zeros += parts[at + ZEROS];
        finites += parts[at + FINITES];
        float found_low = uintBitsToFloat(parts[at + LOW]);
        float found_high = uintBitsToFloat(parts[at + HIGH]);
        if (found_low < low) low = found_low;
        if (found_high > high) high = found_high;
        low_int = min(low_int, int(parts[at + LOW_INT]));
        high_int = max(high_int, int(parts[at + HIGH_INT]));
        total = plus(total, uintBitsToFloat(parts[at + SUM]));
        total = plus(total, uintBitsToFloat(parts[at + LOST]));
    }
    int at = into + t * PART;
    parts[at + NANS] = nans;
    parts[at + PLUSES] = pluses;
    parts[at + MINUSES] = minuses;
    parts[at + ZEROS] = zeros;
    parts[at + FINITES] = finites;
    parts[at + LOW] = floatBitsToUint(low);
    parts[at + HIGH] = floatBitsToUint(high);
    parts[at + LOW_INT] = uint(low_int);
    parts[at + HIGH_INT] = uint(high_int);
    parts[at + SUM] = floatBitsToUint(total.sum);
    parts[at + LOST] = floatBitsToUint(total.lost);
}
