// concat, one part: y[at] = part[at - begin], where begin is where the part starts along JOINED.
void main() {
    int i = THREAD;
    if (i >= PART_NUMEL) return;
    int at[PART_RANK];
    part_coords(i, at);
    PART_T value = part_v(at);
    at[JOINED] += LAUNCH_0;
    store_y_v(at, value);
}
