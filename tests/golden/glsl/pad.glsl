== pad (1, 1, 1) (0, 0)
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
#line 200
#define PADS_LEN 4
const int pads[4] = int[4](0, 0, 1, 2);
#define fill RUNTIME_ZERO
#define MODE_CONSTANT 0
#define MODE_REFLECT 1
#define MODE_SYMMETRIC 2
#define MODE_EDGE 3
#define MODE_WRAP 4
#define MODE 0
// x: float32[N,2]
#define X_T float
#define X_RANK 2
#define X_NUMEL (BATCH * 2)
#define X_VEC4 0
#define X_D0 BATCH
#define X_S0 2
#define X_D1 2
#define X_S1 1
layout(std430, binding = 0) readonly buffer x_block { float x_data[]; };
// y: float32[N,5]
#define Y_T float
#define Y_RANK 2
#define Y_NUMEL (BATCH * 5)
#define Y_VEC4 0
#define Y_D0 BATCH
#define Y_S0 5
#define Y_D1 5
#define Y_S1 1
#define Y_ADDS 0
layout(std430, binding = 1) writeonly buffer y_block { float y_data[]; };
float x_load(int cell) { return x_data[cell]; }
int x_cell(int i0, int i1) { return i0 * 2 + i1; }
int x_cell_v(int at[2]) { return x_cell(at[0], at[1]); }
void x_sizes(out int sizes[2]) { sizes = int[2](BATCH, 2); }
float x_v(int at[2]) { return x_load(x_cell_v(at)); }
void y_coords(int i, out int at[2]) {
    at[1] = i % 5;
    i /= 5;
    at[0] = i;
}
void y_put(int cell, float value) { y_data[cell] = value; }
void store_y_at(int i, float value) { y_put(i, value); }
#line 2001
// pad: y[at] = x[at - before] inside x, fill outside. `inside` holds the sizes of x.
Y_T kernel(int i) {
    int at[Y_RANK];
    int inside[X_RANK];
    y_coords(i, at);
    x_sizes(inside);
    for (int k = 0; k < PADS_LEN / 2; ++k) {
        at[k] -= pads[2 * k];
        if (at[k] < 0 || at[k] >= inside[k]) return Y_T(fill);
    }
    return x_v(at);
}
#line 500
void main() {
    int i = THREAD;
    if (i >= Y_NUMEL) return;
    store_y_at(i, kernel(i));
}
