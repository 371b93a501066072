// special values: one answer per question of NUMBER_QUESTIONS in probe_numbers.py, in that order
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer Inputs { float x[]; };
layout(std430, binding = 1) writeonly buffer Answers { float y[]; };

bool bad(float v) { return (floatBitsToUint(v) & 0x7f800000u) == 0x7f800000u; }

void main() {
    // Read from memory, so that no compiler knows them.
    float nan = x[0], inf = x[1], zero = x[2], tiny = x[3], one = x[4], big = x[5];
    float a = x[6], b = x[7], c = x[8];
    y[0] = max(nan, 0.0);
    y[1] = min(nan, 0.0);
    y[2] = clamp(nan, -1.0, 1.0);
    y[3] = nan < 0.0 ? 0.0 : nan;
    y[4] = nan > 0.0 ? nan : 0.0;
    y[5] = isnan(nan) ? nan : max(nan, 0.0);
    y[6] = bad(nan) ? nan : clamp(nan, -15.0, 15.0);
    y[7] = isnan(nan) && !isnan(one) && !isnan(inf) ? 1.0 : 0.0;
    y[8] = isinf(inf) && !isinf(one) && !isinf(nan) ? 1.0 : 0.0;
    y[9] = bad(nan) && bad(inf) && bad(-inf) && !bad(big) && !bad(zero) ? 1.0 : 0.0;
    y[10] = tanh(nan);
    y[11] = exp(nan);
    y[12] = sqrt(nan);
    y[13] = nan * zero;
    y[14] = inf - inf;
    y[15] = tiny;
    y[16] = tiny * one;
    y[17] = a * b + c;
    precise float product = a * b;
    precise float total = product + c;
    y[18] = total;
    y[19] = fma(a, b, c);
    y[20] = tanh(big);
    y[21] = exp(-inf);
    y[22] = log(zero);
    y[23] = one / zero;
    y[24] = zero / zero;
    y[25] = exp(big);
}
