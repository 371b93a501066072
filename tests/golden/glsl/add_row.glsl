== add (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: float32[N,4,8]
layout(std430, binding = 0) readonly buffer t0_block { vec4 t0_data[]; };
// t1: float32[8]
layout(std430, binding = 1) readonly buffer t1_block { vec4 t1_data[]; };
// t2: float32[N,4,8]
layout(std430, binding = 2) writeonly buffer t2_block { vec4 t2_data[]; };
void main() {
    int first = THREAD * 4;
    if (first >= (BATCH * 4) * 8) return;
    int rest = first;
    int c1 = rest % 8;
    rest /= 8;
    int c0 = rest;
    vec4 t0 = t0_data[(c0 * 8 + c1) >> 2];
    vec4 t1 = t1_data[(c1) >> 2];
    vec4 t2_new;
    {
        float v0 = 1.0 * t0[0] + 1.0 * t1[0];
        t2_new[0] = v0;
    }
    {
        float v0 = 1.0 * t0[1] + 1.0 * t1[1];
        t2_new[1] = v0;
    }
    {
        float v0 = 1.0 * t0[2] + 1.0 * t1[2];
        t2_new[2] = v0;
    }
    {
        float v0 = 1.0 * t0[3] + 1.0 * t1[3];
        t2_new[3] = v0;
    }
    t2_data[(c0 * 8 + c1) >> 2] = t2_new;
}
