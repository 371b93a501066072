// begin_update: the updates word += 1; with NOTES, what updates and records need of the step block is noted.
void main() {
    if (THREAD > 0) return;
    int updates = step_word(3) + 1;
    store_step_word(3, updates);
#if NOTES
    noted[0] = step_word(0);
    noted[1] = updates;
    noted[2] = step_word(4);
#endif
}
