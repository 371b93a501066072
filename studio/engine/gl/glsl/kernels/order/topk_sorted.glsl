// topk, places sorted by line and then by rank: y and i of the first TOP of each line.
void main() {
    int t = THREAD;
    if (t >= Y_NUMEL) return;
    int line = t / TOP, rank = t % TOP;
    int p = scratch[SORTED * X_NUMEL + line * LENGTH + rank] % LENGTH;
    int o = line / INNER, r = line % INNER, to = (o * TOP + rank) * INNER + r;
    store_y_at(to, x_at((o * LENGTH + p) * INNER + r));
    store_i_at(to, p);
}
