// loss_l1l2, element i: l1 |w| + l2 w^2.
float term(int i) {
    float value = w_at(i);
    return l1 * abs(value) + l2 * value * value;
}
