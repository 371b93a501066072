== relu (2, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: float32[N,4,4,8]
layout(std430, binding = 0) readonly buffer t0_block { vec4 t0_data[]; };
// t1: float32[N,4,4,8] strides 288,48,8,1 at 56
layout(std430, binding = 1) writeonly buffer t1_block { vec4 t1_data[]; };
void main() {
    int first = THREAD * 4;
    if (first >= BATCH * 4 * 32) return;
    int rest = first;
    int c2 = rest % 32;
    rest /= 32;
    int c1 = rest % 4;
    rest /= 4;
    int c0 = rest;
    vec4 t0 = t0_data[(c0 * 128 + c1 * 32 + c2) >> 2];
    vec4 t1_new;
    {
        float v0 = at_least(t0[0], 0.0);
        t1_new[0] = v0;
    }
    {
        float v0 = at_least(t0[1], 0.0);
        t1_new[1] = v0;
    }
    {
        float v0 = at_least(t0[2], 0.0);
        t1_new[2] = v0;
    }
    {
        float v0 = at_least(t0[3], 0.0);
        t1_new[3] = v0;
    }
    t1_data[(56 + c0 * 288 + c1 * 48 + c2) >> 2] = t1_new;
}
