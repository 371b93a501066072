// live scan: each invocation counts and finds the range of elements t, t + threads, ...
void main() {
    int type = numbers[0], count = numbers[1], threads = numbers[5], into = numbers[6];
    int t = THREAD;
    if (t < 64) parts[numbers[7] + t] = 0u;
    if (t >= threads) return;
    uint nans = 0u, pluses = 0u, minuses = 0u, zeros = 0u, finites = 0u;
    float low = INFINITE, high = -INFINITE;
    int low_int = 0x7fffffff, high_int = -0x7fffffff - 1;
    for (int i = t; i < count; i += threads) {
        uint bits = live_bits(type, live_cell(i));
        uint mark = live_mark(type, bits);
        if (mark == LIVE_NAN) ++nans;
        else if (mark == LIVE_PLUS) ++pluses;
        else if (mark == LIVE_MINUS) ++minuses;
        else {
            ++finites;
            if (live_is_zero(type, bits)) ++zeros;
            float value = live_number(type, bits);
            if (value < low) low = value;
            if (value > high) high = value;
            low_int = min(low_int, int(bits));
            high_int = max(high_int, int(bits));
        }
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
    parts[at + SUM] = 0u;
    parts[at + LOST] = 0u;
}
