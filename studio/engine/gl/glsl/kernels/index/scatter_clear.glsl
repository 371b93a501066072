// scatter_clear: nobody takes part in any of LAUNCH_0 elements yet.
void main() {
    if (THREAD < LAUNCH_0) scratch[THREAD] = NO_ENTRY;
}
