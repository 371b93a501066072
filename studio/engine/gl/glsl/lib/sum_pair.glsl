// A sum that goes on from step to step: what is stored of it, and what rounding took from that.
#include "long_sum.glsl"

LongSum with_sum(LongSum s, LongSum more) {
    LongSum next = plus(s, more.sum);
    return LongSum(next.sum, next.lost + more.lost);
}

// The same sum, the first part as near to it as a float can be.
LongSum settled(LongSum s) {
    precise float near = s.sum + s.lost;
    precise float rest = (s.sum - near) + s.lost;
    return LongSum(near, is_bad(rest) ? 0.0 : rest);
}
