// grads_linear_few_dx: dx[m, i] = sum over o of dy[m, o] w[o, i] for few o.
#pragma optionNV(unroll all)
#include "few_outputs_dx.glsl"

void main() { input_gradients(GROUP); }
