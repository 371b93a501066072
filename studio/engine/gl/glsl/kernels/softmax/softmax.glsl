// softmax, by rows of `step` elements APART from each other: y = e^(x - max) / sum of e^(x - max).
#include "lanes.glsl"
void main() {
    int row = lane_result(), first = row / APART * (step * APART) + row % APART;
    bool mine = first < Y_NUMEL;
    float high = -INFINITE, sum = 0.0;
    for (int k = lane_number(); k < step && mine; k += LANES) high = larger(high, x_at(first + k * APART));
    high = largest(high);
    for (int k = lane_number(); k < step && mine; k += LANES) sum += exp(x_at(first + k * APART) - high);
    sum = summed(sum);
    for (int k = lane_number(); k < step && mine; k += LANES) {
        int i = first + k * APART;
        store_y_at(i, exp(x_at(i) - high) / sum);
    }
}
