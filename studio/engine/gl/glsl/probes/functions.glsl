// functions: y(f, i) = function f of x(f, i), a row of SIZE values for each function
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Inputs { float x[]; };
layout(std430, binding = 1) writeonly buffer Answers { float y[]; };

const int SIZE = 4096;

void main() {
    int i = int(gl_GlobalInvocationID.x);
    y[i] = exp(x[i]);
    y[SIZE + i] = log(x[SIZE + i]);
    y[2 * SIZE + i] = tanh(x[2 * SIZE + i]);
    y[3 * SIZE + i] = sqrt(x[3 * SIZE + i]);
    y[4 * SIZE + i] = 1.0 / x[4 * SIZE + i];
    y[5 * SIZE + i] = sin(x[5 * SIZE + i]);
    y[6 * SIZE + i] = pow(x[6 * SIZE + i], 1.7);
}
