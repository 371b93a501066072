== mul (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: float32[N,5,1]
layout(std430, binding = 0) readonly buffer t0_block { float t0_data[]; };
float t0_load(int cell) { return t0_data[cell]; }
// t1: float32[N,1,3]
layout(std430, binding = 1) readonly buffer t1_block { float t1_data[]; };
float t1_load(int cell) { return t1_data[cell]; }
// t2: float32[N,5,3]
layout(std430, binding = 2) writeonly buffer t2_block { float t2_data[]; };
void t2_put(int cell, float value) { t2_data[cell] = value; }
void main() {
    int first = THREAD * 1;
    if (first >= BATCH * 5 * 3) return;
    for (int k = 0; k < 1; ++k) {
        int i = first + k;
        if (i >= BATCH * 5 * 3) break;
        int rest = i;
        int c2 = rest % 3;
        rest /= 3;
        int c1 = rest % 5;
        rest /= 5;
        int c0 = rest;
        float t0 = t0_load(c0 * 5 + c1);
        float t1 = t1_load(c0 * 3 + c2);
        float v0 = t0 * t1;
        t2_put(c0 * 15 + c1 * 3 + c2, v0);
    }
}
