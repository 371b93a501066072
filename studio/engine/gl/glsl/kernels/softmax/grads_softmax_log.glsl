// grads_softmax_log, by rows of `step` elements APART from each other: dx = dy - e^y sum of dy.
#include "lanes.glsl"
void main() {
    int row = lane_result(), first = row / APART * (step * APART) + row % APART;
    bool mine = first < Y_NUMEL;
    float sum = 0.0;
    for (int k = lane_number(); k < step && mine; k += LANES) sum += dy_at(first + k * APART);
    sum = summed(sum);
    for (int k = lane_number(); k < step && mine; k += LANES) {
        int i = first + k * APART;
        store_dx_at(i, dy_at(i) - exp(y_at(i)) * sum);
    }
}
