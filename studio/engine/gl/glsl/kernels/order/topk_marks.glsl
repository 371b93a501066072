// topk_marks: for each element that was found the place it has among those found. What is marked for
// others is left as it was; the reader sees that it is not theirs.
void main() {
    int m = THREAD;
    if (m >= I_NUMEL) return;
    int r = m % INNER, o = m / INNER / TOP;
    scratch[(o * LENGTH + i_at(m)) * INNER + r] = m;
}
