// record: ring[record mod R, FIRST + k] = value k, for up to four scalars.
void main() {
    if (THREAD > 0) return;
    int row = step_word(4) % RING_D0;
    store_ring(row, FIRST, v0());
#if COUNT > 1
    store_ring(row, FIRST + 1, v1());
#endif
#if COUNT > 2
    store_ring(row, FIRST + 2, v2());
#endif
#if COUNT > 3
    store_ring(row, FIRST + 3, v3());
#endif
}
