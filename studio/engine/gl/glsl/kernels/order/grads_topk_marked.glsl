// gradient of topk, elements found are marked: dx is dy where a mark is the element's own, else 0.
DX_T kernel(int n) {
    int m = scratch[n], p = n / INNER % LENGTH, o = n / INNER / LENGTH;
    bool own = m >= 0 && m < I_NUMEL;
    if (own) own = m % INNER == n % INNER && m / INNER / TOP == o && i_at(m) == p;
    return own ? dy_at(m) : 0.0;
}
