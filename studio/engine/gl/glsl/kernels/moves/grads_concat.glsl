// gradient of concat for one part: dpart[at] = dy[at + begin].
DPART_T kernel(int i) {
    int at[DPART_RANK];
    dpart_coords(i, at);
    at[JOINED] += LAUNCH_0;
    return dy_v(at);
}
