// scatter_last: y is the element of u that was marked, x where none was.
Y_T kernel(int n) {
    int m = scratch[n];
    return m < 0 ? x_at(n) : u_at(m);
}
