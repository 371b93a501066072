// advance: step and record += 1, cursor += LAUNCH_0, the length of the batch.
void main() {
    if (THREAD > 0) return;
    store_step_word(0, step_word(0) + 1);
    store_step_word(2, step_word(2) + LAUNCH_0);
    store_step_word(4, step_word(4) + 1);
}
