== flatten (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200
// x: float32[N,2,4]
#define X_T float
#define X_RANK 3
#define X_NUMEL (BATCH * 8)
#define X_VEC4 0
#define X_D0 BATCH
#define X_S0 8
#define X_D1 2
#define X_S1 4
#define X_D2 4
#define X_S2 1
layout(std430, binding = 0) readonly buffer x_block { float x_data[]; };
// y: float32[N,8]
#define Y_T float
#define Y_RANK 2
#define Y_NUMEL (BATCH * 8)
#define Y_VEC4 0
#define Y_D0 BATCH
#define Y_S0 8
#define Y_D1 8
#define Y_S1 1
#define Y_ADDS 0
// e0: float32[8]
#define E0_T float
#define E0_RANK 1
#define E0_NUMEL 8
#define E0_VEC4 0
#define E0_D0 8
#define E0_S0 1
layout(std430, binding = 1) readonly buffer e0_block { float e0_data[]; };
// e1: float32[N,8]
#define E1_T float
#define E1_RANK 2
#define E1_NUMEL (BATCH * 8)
#define E1_VEC4 0
#define E1_D0 BATCH
#define E1_S0 8
#define E1_D1 8
#define E1_S1 1
#define E1_ADDS 0
layout(std430, binding = 2) writeonly buffer e1_block { float e1_data[]; };
float x_load(int cell) { return x_data[cell]; }
int x_cell_at(int i) { return i; }
float x_at(int i) { return x_load(x_cell_at(i)); }
void y_coords(int i, out int at[2]) {
    at[1] = i % 8;
    i /= 8;
    at[0] = i;
}
float e0_load(int cell) { return e0_data[cell]; }
int e0_cell(int i0) { return i0; }
vec4 e0_load4(int cell) { return vec4(e0_load(cell + 0), e0_load(cell + 1), e0_load(cell + 2), e0_load(cell + 3)); }
int e1_cell(int i0, int i1) { return i0 * 8 + i1; }
void e1_put(int cell, float value) { e1_data[cell] = value; }
void e1_put4(int cell, vec4 value) { e1_data[cell + 0] = value[0]; e1_data[cell + 1] = value[1]; e1_data[cell + 2] = value[2]; e1_data[cell + 3] = value[3]; }
void store_y(int i0, int i1, float value) {
    float v0 = 1.0 * value + 1.0 * e0_load(e0_cell(i1));
    float v1 = at_least(v0, 0.0);
    e1_put(e1_cell(i0, i1), v1);
}
void store_y4(int i0, int i1, vec4 values) {
    vec4 e0_four = e0_load4(e0_cell(i1));
    vec4 e1_new;
    {
        float v0 = 1.0 * values[0] + 1.0 * e0_four[0];
        float v1 = at_least(v0, 0.0);
        e1_new[0] = v1;
    }
    {
        float v0 = 1.0 * values[1] + 1.0 * e0_four[1];
        float v1 = at_least(v0, 0.0);
        e1_new[1] = v1;
    }
    {
        float v0 = 1.0 * values[2] + 1.0 * e0_four[2];
        float v1 = at_least(v0, 0.0);
        e1_new[2] = v1;
    }
    {
        float v0 = 1.0 * values[3] + 1.0 * e0_four[3];
        float v1 = at_least(v0, 0.0);
        e1_new[3] = v1;
    }
    e1_put4(e1_cell(i0, i1), e1_new);
}
void store_y4_at(int i, vec4 value) {
    int at[2];
    y_coords(i, at);
    store_y4(at[0], at[1], value);
}
void store_y_v(int at[2], float value) { store_y(at[0], at[1], value); }
void store_y_at(int i, float value) {
    int at[2];
    y_coords(i, at);
    store_y_v(at, value);
}
#line 2001
// flatten, reshape: y = x in row-major order.
Y_T kernel(int i) { return x_at(i); }
#line 500
void main() {
    int i = THREAD;
    if (i >= Y_NUMEL) return;
    store_y_at(i, kernel(i));
}

== square_grads_square (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: float32[N,8]
layout(std430, binding = 0) readonly buffer t0_block { vec4 t0_data[]; };
// t1: float32[N,8]
layout(std430, binding = 1) readonly buffer t1_block { vec4 t1_data[]; };
// t2: float32[N,8]
layout(std430, binding = 2) buffer t2_block { vec4 t2_data[]; };
// t3: float32[N,8]
layout(std430, binding = 3) writeonly buffer t3_block { vec4 t3_data[]; };
void main() {
    int first = THREAD * 4;
    if (first >= (BATCH * 8)) return;
    int c0 = first;
    vec4 t0 = t0_data[(c0) >> 2];
    vec4 t1 = t1_data[(c0) >> 2];
    vec4 t2 = t2_data[(c0) >> 2];
    vec4 t2_new;
    vec4 t3_new;
    {
        float v0 = t0[0] * t0[0];
        float v1 = t2[0] + 2.0 * t1[0] * t0[0];
        t3_new[0] = v0;
        t2_new[0] = v1;
    }
    {
        float v0 = t0[1] * t0[1];
        float v1 = t2[1] + 2.0 * t1[1] * t0[1];
        t3_new[1] = v0;
        t2_new[1] = v1;
    }
    {
        float v0 = t0[2] * t0[2];
        float v1 = t2[2] + 2.0 * t1[2] * t0[2];
        t3_new[2] = v0;
        t2_new[2] = v1;
    }
    {
        float v0 = t0[3] * t0[3];
        float v1 = t2[3] + 2.0 * t1[3] * t0[3];
        t3_new[3] = v0;
        t2_new[3] = v1;
    }
    t2_data[(c0) >> 2] = t2_new;
    t3_data[(c0) >> 2] = t3_new;
}
