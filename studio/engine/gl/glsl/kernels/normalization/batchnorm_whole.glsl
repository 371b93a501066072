// batchnorm_whole: the elements, and what batchnorm_statistics does.
#include "normalised.glsl"

// All is read before the first is written, so that the latencies overlap.
void keep_statistics(int c, vec4 mean, vec4 variance) {
    vec4 old_mean, old_variance;
    for (int k = 0; k < 4; ++k) {
        old_mean[k] = mean_at(c + k);
        old_variance[k] = var_at(c + k);
    }
    vec4 inverse = 1.0 / sqrt(variance + eps);
    for (int k = 0; k < 4; ++k) {
        store_dmean_at(c + k, mean[k]);
        store_dvar_at(c + k, inverse[k]);
        store_mean_at(c + k, (1.0 - factor) * old_mean[k] + factor * mean[k]);
        store_var_at(c + k, (1.0 - factor) * old_variance[k] + factor * variance[k]);
    }
}
