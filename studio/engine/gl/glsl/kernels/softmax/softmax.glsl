// softmax, by rows of `step` elements: y = e^(x - max) / sum of e^(x - max).
#include "lanes.glsl"
void main() {
    int row = lane_result(), first = row * step;
    bool mine = first < Y_NUMEL;
    float high = -INFINITE, sum = 0.0;
    for (int k = lane_number(); k < step && mine; k += LANES) high = larger(high, x_at(first + k));
    high = largest(high);
    for (int k = lane_number(); k < step && mine; k += LANES) sum += exp(x_at(first + k) - high);
    sum = summed(sum);
    for (int k = lane_number(); k < step && mine; k += LANES) {
        store_y_at(first + k, exp(x_at(first + k) - high) / sum);
    }
}
