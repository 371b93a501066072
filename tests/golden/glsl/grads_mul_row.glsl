== grads_mul (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: float32[8]
layout(std430, binding = 0) readonly buffer t0_block { vec4 t0_data[]; };
// t1: float32[N,4,8]
layout(std430, binding = 1) readonly buffer t1_block { vec4 t1_data[]; };
// t2: float32[N,4,8]
layout(std430, binding = 2) buffer t2_block { vec4 t2_data[]; };
void main() {
    int first = THREAD * 4;
    if (first >= (BATCH * 4) * 8) return;
    int rest = first;
    int c1 = rest % 8;
    rest /= 8;
    int c0 = rest;
    vec4 t0 = t0_data[(c1) >> 2];
    vec4 t1 = t1_data[(c0 * 8 + c1) >> 2];
    vec4 t2 = t2_data[(c0 * 8 + c1) >> 2];
    vec4 t2_new;
    {
        float v0 = t2[0] + t1[0] * t0[0];
        t2_new[0] = v0;
    }
    {
        float v0 = t2[1] + t1[1] * t0[1];
        t2_new[1] = v0;
    }
    {
        float v0 = t2[2] + t1[2] * t0[2];
        t2_new[2] = v0;
    }
    {
        float v0 = t2[3] + t1[3] * t0[3];
        t2_new[3] = v0;
    }
    t2_data[(c0 * 8 + c1) >> 2] = t2_new;
}

== sum_repeats (1, 1, 1) (2, 8)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: float32[N,4,8]
layout(std430, binding = 0) readonly buffer t0_block { float t0_data[]; };
float t0_load(int cell) { return t0_data[cell]; }
// t1: float32[N,4,8]
layout(std430, binding = 1) readonly buffer t1_block { float t1_data[]; };
float t1_load(int cell) { return t1_data[cell]; }
layout(std430, binding = 2) buffer scratch_block { float scratch[]; };
void main() {
    int splits = LAUNCH_0, kept = LAUNCH_1;
    if (THREAD >= splits * kept) return;
    int j = THREAD % kept;
    int c1 = j;
    float sum = 0.0;
    for (int r = THREAD / kept; r < (BATCH * 4); r += splits) {
        int s = r;
        int c0 = s;
        float t0 = t0_load(c0 * 8 + c1);
        float t1 = t1_load(c0 * 8 + c1);
        sum += t1 * t0;
    }
    scratch[THREAD] = sum;
}

== fold_scratch (1, 1, 1) (2, 8)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200
// y: float32[8]
#define Y_T float
#define Y_RANK 1
#define Y_NUMEL 8
#define Y_VEC4 0
#define Y_D0 8
#define Y_S0 1
#define Y_ADDS 0
layout(std430, binding = 0) writeonly buffer y_block { float y_data[]; };
layout(std430, binding = 1) buffer scratch_block { float scratch[]; };
void y_put(int cell, float value) { y_data[cell] = value; }
void store_y_at(int i, float value) { y_put(i, value); }
#line 2001
// fold_scratch: y[i] = sum over s of scratch[s][i], LAUNCH_0 partial sums in ascending order.
float kernel(int i) {
    float sum = 0.0;
    for (int s = 0; s < LAUNCH_0; ++s) sum += scratch[s * Y_NUMEL + i];
    return sum;
}
#line 500
void main() {
    int i = THREAD;
    if (i >= Y_NUMEL) return;
    store_y_at(i, kernel(i));
}
