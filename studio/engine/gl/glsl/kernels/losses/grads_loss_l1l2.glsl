// gradient of loss_l1l2: dw = dy (l1 sign(w) + 2 l2 w).
DW_T kernel(int i) {
    float value = w_at(i);
    return dy() * (l1 * sign_of(value) + 2.0 * l2 * value);
}
