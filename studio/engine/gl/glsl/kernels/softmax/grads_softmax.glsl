// grads_softmax, by rows of `step` elements APART from each other: dx = y (dy - sum of dy y).
#include "lanes.glsl"
void main() {
    int row = lane_result(), first = row / APART * (step * APART) + row % APART;
    bool mine = first < Y_NUMEL;
    float sum = 0.0;
    for (int k = lane_number(); k < step && mine; k += LANES) {
        int i = first + k * APART;
        sum += dy_at(i) * y_at(i);
    }
    sum = summed(sum);
    for (int k = lane_number(); k < step && mine; k += LANES) {
        int i = first + k * APART;
        store_dx_at(i, y_at(i) * (dy_at(i) - sum));
    }
}
