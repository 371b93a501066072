// empty step: y(0) = y(0) + 1, the least a dispatch can do
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Counter { uint y[]; };

void main() { y[0] += 1u; }
