// The cross-entropy of rows of logits that a work group has whole, and its gradient: OUT values of a row stand in
// row_values one after another, ROW_VALUES in all. ROW_LOSS is 1 for targets that are classes, 2 for rows of them.
// row_y has the losses, row_dy is the one number that the gradient row_dp starts from.
#if ROW_LOSS
#pragma optionNV(unroll all)
shared float row_values[ROW_VALUES];
#if ROW_LOSS == 1
int row_target;
#else
shared float row_targets[ROW_VALUES];
float row_target;
#endif
#if ROW_DX
shared float row_slopes[ROW_VALUES];
#endif
float row_weight = 1.0;
#if ROW_GRADIENT
float row_factor;
#endif

// What an invocation needs of outside, read long before it is wanted.
void fetch_target(int r, int column) {
#if ROW_LOSS == 1
    row_target = int(row_t_at(r));
#else
    row_target = float(row_t_at(r * OUT + column));
#endif
#if ROW_WEIGHTS
    row_weight = row_weights(r / ROW_POSITIONS);
#endif
#if ROW_GRADIENT
    row_factor = row_dy() / ROW_SHARE;
#endif
}

void keep_value(int s, float value) {
    row_values[s] = value;
#if ROW_LOSS == 2
    row_targets[s] = row_target;
#endif
}

// Behind a barrier: the gradient of one value, with ROW_DX kept in row_slopes, and the loss of its row by the first.
void take_loss(int r, int column, int first) {
    float high = -INFINITE, sum = 0.0, loss = 0.0;
    for (int j = 0; j < OUT; ++j) high = larger(high, row_values[first + j]);
    for (int j = 0; j < OUT; ++j) sum += exp(row_values[first + j] - high);
    float log_sum = high + log(sum);
#if ROW_LOSS == 1
    bool known = row_target >= 0 && row_target < OUT;
    float targets = known ? 1.0 : NOT_A_NUMBER, target = float(column == row_target);
    loss = (log_sum - row_values[first + (known ? row_target : 0)]) * targets;
#else
    float targets = 0.0, target = row_target;
    for (int j = 0; j < OUT; ++j) {
        float wanted = row_targets[first + j];
        targets += wanted;
        if (wanted != 0.0) loss += wanted * (log_sum - row_values[first + j]);
    }
#endif
#if ROW_GRADIENT
    float share = exp(row_values[first + column] - high) / sum;
    float slope = row_factor * row_weight * (share * targets - target);
    store_row_dp_at(r * OUT + column, slope);
#if ROW_DX
    row_slopes[first + column] = slope;
#endif
#endif
    if (column == 0) store_row_y_at(r, loss * row_weight);
}
#endif
