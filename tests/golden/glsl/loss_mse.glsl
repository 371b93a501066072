== loss_mse (1, 1, 1) (12, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200
#define DYLANN_SUM 0
// p: float32[N,4]
#define P_T float
#define P_RANK 2
#define P_NUMEL (BATCH * 4)
#define P_VEC4 0
#define P_D0 BATCH
#define P_S0 4
#define P_D1 4
#define P_S1 1
layout(std430, binding = 0) readonly buffer p_block { float p_data[]; };
// t: float32[N,4]
#define T_T float
#define T_RANK 2
#define T_NUMEL (BATCH * 4)
#define T_VEC4 0
#define T_D0 BATCH
#define T_S0 4
#define T_D1 4
#define T_S1 1
layout(std430, binding = 1) readonly buffer t_block { float t_data[]; };
layout(std430, binding = 2) buffer scratch_block { float scratch[]; };
float p_load(int cell) { return p_data[cell]; }
int p_cell_at(int i) { return i; }
float p_at(int i) { return p_load(p_cell_at(i)); }
float t_load(int cell) { return t_data[cell]; }
int t_cell_at(int i) { return i; }
float t_at(int i) { return t_load(t_cell_at(i)); }
#line 2001
// loss_mse, element i: (p - t)^2 times the weight of its entry.
float term(int i) {
    float off = p_at(i) - float(t_at(i));
    float loss = off * off;
#if HAS_WEIGHTS
    loss *= weights(i / ENTRY);
#endif
    return loss;
}
#line 500
void main() {
    int t = THREAD;
    if (t >= TERM_THREADS) return;
    float sum = 0.0;
    for (int r = t; r < LAUNCH_0; r += TERM_THREADS) sum += term(r);
    scratch[LAUNCH_1 + t] = sum;
}

== total_scratch (1, 1, 1) (64, 12)
layout(local_size_x = 256, local_size_y = 1, local_size_z = 1) in;
#line 200
#define DYLANN_SUM 0
// y: float32[]
#define Y_T float
#define Y_RANK 1
#define Y_NUMEL 1
#define Y_VEC4 0
#define Y_ADDS 0
layout(std430, binding = 0) writeonly buffer y_block { float y_data[]; };
layout(std430, binding = 1) buffer scratch_block { float scratch[]; };
int y_cell() { return 0; }
void y_put(int cell, float value) { y_data[cell] = value; }
void store_y(float value) { y_put(y_cell(), value); }
#line 2001
// Sum over the work group in a fixed order (a binary tree over the invocation index), so that the
// same input gives the same bits on every run. GROUP_SIZE is a power of two up to 256. All
// invocations must call it, and all get the sum.

shared float group_sum_part[GROUP_SIZE];

float group_sum(float value) {
    uint lane = gl_LocalInvocationIndex;
    group_sum_part[lane] = value;
    memoryBarrierShared(); barrier();
    for (uint reach = uint(GROUP_SIZE) / 2u; reach > 0u; reach >>= 1) {
        if (lane < reach) group_sum_part[lane] += group_sum_part[lane + reach];
        memoryBarrierShared(); barrier();
    }
    float total = group_sum_part[0];
    memoryBarrierShared(); barrier();
    return total;
}
#line 3001
// total_scratch: y = FINISH(sum of scratch[0 .. LAUNCH_0 - 1]) by one work group, in a fixed order.

void main() {
    float sum = 0.0;
    for (int k = int(gl_LocalInvocationIndex); k < LAUNCH_0; k += GROUP_SIZE) sum += scratch[k];
    sum = group_sum(sum);
    if (gl_LocalInvocationIndex == 0u) store_y(FINISH(sum));
}
