// gradient of topk: dx is dy where the element was found, else 0.
DX_T kernel(int n) {
    int r = n % INNER, p = n / INNER % LENGTH, o = n / INNER / LENGTH;
    for (int j = 0; j < TOP; ++j) {
        int place = (o * TOP + j) * INNER + r;
        if (i_at(place) == p) return dy_at(place);
    }
    return 0.0;
}
