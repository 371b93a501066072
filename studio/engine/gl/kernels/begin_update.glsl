// begin_update: the updates word += 1.
void main() {
    if (THREAD > 0) return;
    store_step_word(3, step_word(3) + 1);
}
