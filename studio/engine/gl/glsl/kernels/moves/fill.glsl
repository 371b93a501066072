// fill: y[i] = number.
Y_T kernel(int i) { return Y_T(number); }
