// grads_linear_few: all gradients of a dense layer with few outputs; the first DW_GROUPS work groups make dw
// and db, those behind them dx.
#pragma optionNV(unroll all)
#include "few_outputs_dw.glsl"
#include "few_outputs_dx.glsl"

void main() {
    if (GROUP < DW_GROUPS) {
        weight_gradients(GROUP);
    } else {
#if WANT_DX
        input_gradients(GROUP - DW_GROUPS);
#endif
    }
}
