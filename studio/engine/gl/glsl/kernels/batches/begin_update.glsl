// begin_update: the updates word += 1; now is a copy of the whole block after that.
void main() {
    if (THREAD >= STEP_WORD_NUMEL) return;
    int word = step_word(THREAD);
    if (THREAD == 3) store_step_word(3, ++word);
#if HAS_NOW
    store_now(THREAD, word);
#endif
}
