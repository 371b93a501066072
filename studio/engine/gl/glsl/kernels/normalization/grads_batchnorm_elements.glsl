// grads_batchnorm_elements: dx only; grads_batchnorm_affine makes dgamma and dbeta.
#include "grads_normalised.glsl"

void keep_sums(int c, vec4 plain, vec4 scaled) {}
