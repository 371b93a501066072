// grads_batchnorm_whole: dx, and what grads_batchnorm_affine does.
#include "grads_normalised.glsl"

void keep_sums(int c, vec4 plain, vec4 scaled) {
    for (int k = 0; k < 4; ++k) {
#if WANT_DBETA
        store_dbeta_at(c + k, plain[k]);
#endif
#if WANT_DGAMMA
        store_dgamma_at(c + k, scaled[k]);
#endif
    }
}
