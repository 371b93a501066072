// one_hot: y[..., k] = 1 where x[...] = k, else 0.
Y_T kernel(int i) { return Y_T(x_at(i / depth) == i % depth); }
