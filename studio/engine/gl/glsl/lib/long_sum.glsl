// Sums of many numbers that keep their digits (Neumaier 1974): what an addition loses is kept beside
// the sum. `precise` holds compilers off from cancelling the correction away.

struct LongSum {
    float sum;
    float lost;
};

LongSum plus(LongSum s, float value) {
    precise float next = s.sum + value;
    precise float rest = abs(s.sum) >= abs(value) ? (s.sum - next) + value : (value - next) + s.sum;
    // With an infinity the rest is NaN, but the sum is right without it.
    return LongSum(next, s.lost + (is_bad(rest) ? 0.0 : rest));
}

float whole(LongSum s) {
    return s.sum + s.lost;
}
