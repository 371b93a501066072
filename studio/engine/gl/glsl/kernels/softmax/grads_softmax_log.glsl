// grads_softmax_log, by rows of `step` elements: dx = dy - e^y sum of dy.
#include "lanes.glsl"
void main() {
    int row = lane_result(), first = row * step;
    bool mine = first < Y_NUMEL;
    float sum = 0.0;
    for (int k = first + lane_number(); k < first + step && mine; k += LANES) sum += dy_at(k);
    sum = summed(sum);
    for (int k = first + lane_number(); k < first + step && mine; k += LANES) {
        store_dx_at(k, dy_at(k) - exp(y_at(k)) * sum);
    }
}
