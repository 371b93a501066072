// range: y[k] = start + k delta, the product rounded before the sum.
Y_T kernel(int k) {
    precise Y_T way = Y_T(k) * delta_at(0);
    precise Y_T value = start_at(0) + way;
    return value;
}
