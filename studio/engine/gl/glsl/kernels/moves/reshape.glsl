// flatten, reshape: y = x in row-major order.
Y_T kernel(int i) { return x_at(i); }
