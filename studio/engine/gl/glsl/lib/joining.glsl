// How a reduction joins values: a sum keeps its digits, anything else is JOIN(a, b) from START on.
#include "long_sum.glsl"

#if JOINS_SUM
#define JOINED LongSum
#define NOTHING LongSum(0.0, 0.0)
#define JOIN(a, b) ((a) + (b))
LongSum joined_with(LongSum s, float value) { return plus(s, value); }
float joined_value(LongSum s) { return whole(s); }
#else
#define JOINED float
#define NOTHING (START)
float joined_with(float s, float value) { return JOIN(s, value); }
float joined_value(float s) { return s; }
#endif
