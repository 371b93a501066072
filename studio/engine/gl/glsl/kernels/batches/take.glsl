// take: y[n, r] = table[i[n], r] over rows of INNER elements; NaN where the index is outside.
Y_T kernel(int n) {
    int row = i_at(n / INNER);
    if (row < 0 || row >= TABLE_D0) return Y_T(NOT_A_NUMBER);
    return table_at(row * INNER + n % INNER);
}
