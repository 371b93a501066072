== cast (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: uint8[N,7]
layout(std430, binding = 0) readonly buffer t0_block { uint t0_data[]; };
// t1: float16[N,7]
layout(std430, binding = 1) writeonly buffer t1_block { uvec2 t1_data[]; };
void main() {
    int first = THREAD * 4;
    if (first >= (BATCH * 7)) return;
    int c0 = first;
    ivec4 t0 = ivec4(uvec4(t0_data[(c0) >> 2]) >> uvec4(0u, 8u, 16u, 24u)) & 255;
    vec4 t1_new;
    {
        float v0 = float(t0[0]);
        t1_new[0] = v0;
    }
    {
        float v0 = float(t0[1]);
        t1_new[1] = v0;
    }
    {
        float v0 = float(t0[2]);
        t1_new[2] = v0;
    }
    {
        float v0 = float(t0[3]);
        t1_new[3] = v0;
    }
    t1_data[(c0) >> 2] = uvec2(packHalf2x16(t1_new.xy), packHalf2x16(t1_new.zw));
}

== cast (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200

// t0: float16[N,7]
layout(std430, binding = 0) readonly buffer t0_block { uvec2 t0_data[]; };
// t1: bool[N,7]
layout(std430, binding = 1) writeonly buffer t1_block { uvec4 t1_data[]; };
void main() {
    int first = THREAD * 4;
    if (first >= (BATCH * 7)) return;
    int c0 = first;
    vec4 t0 = vec4(unpackHalf2x16(t0_data[(c0) >> 2].x), unpackHalf2x16(t0_data[(c0) >> 2].y));
    ivec4 t1_new;
    {
        int v0 = int(t0[0] != 0.0);
        t1_new[0] = v0;
    }
    {
        int v0 = int(t0[1] != 0.0);
        t1_new[1] = v0;
    }
    {
        int v0 = int(t0[2] != 0.0);
        t1_new[2] = v0;
    }
    {
        int v0 = int(t0[3] != 0.0);
        t1_new[3] = v0;
    }
    t1_data[(c0) >> 2] = uvec4(notEqual(t1_new, ivec4(0)));
}

== fill (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200
#define number 3.0
// y: uint8[N,7]
#define Y_T int
#define Y_RANK 2
#define Y_NUMEL (BATCH * 7)
#define Y_VEC4 0
#define Y_D0 BATCH
#define Y_S0 7
#define Y_D1 7
#define Y_S1 1
#define Y_ADDS 0
layout(std430, binding = 0) writeonly buffer y_block { uint y_data[]; };
void y_put_word(int word, int v[4]) {
    y_data[word] = (uint(v[0]) & 255u) << 0 | (uint(v[1]) & 255u) << 8 | (uint(v[2]) & 255u) << 16 | (uint(v[3]) & 255u) << 24;
}
#line 2001
// fill: y[i] = number.
Y_T kernel(int i) { return Y_T(number); }
#line 500
void main() {
    int first = THREAD * 4;
    if (first >= Y_NUMEL) return;
    int v[4];
    for (int k = 0; k < 4; ++k) v[k] = first + k < Y_NUMEL ? kernel(first + k) : int(0);
    y_put_word(THREAD, v);
}
