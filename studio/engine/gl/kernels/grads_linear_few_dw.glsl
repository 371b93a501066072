// grads_linear_few_dw: dw[o, i] = sum over rows m of dy[m, o] x[m, i] and db[o] = sum of dy[m, o] for few o.
#pragma optionNV(unroll all)
#include "few_outputs_dw.glsl"

void main() { weight_gradients(GROUP); }
