// cumulate_scan: what each chunk comes to becomes what all before it do. A work group for each line of
// CHUNKS, each invocation with a stretch.
shared TERM scan_terms[GROUP_SIZE];
void main() {
    int lane = int(gl_LocalInvocationIndex);
    bool mine = GROUP < LAUNCH_0;
    const int each = (CHUNKS + GROUP_SIZE - 1) / GROUP_SIZE;
    int begin = min(lane * each, CHUNKS), end = mine ? min(begin + each, CHUNKS) : begin;
    TERM term = NOTHING;
    for (int k = begin; k < end; ++k) term = BOTH(term, scratch[GROUP * CHUNKS + k]);
    scan_terms[lane] = term;
    barrier();
    for (int reach = 1; reach < GROUP_SIZE; reach *= 2) {
        TERM before = lane >= reach ? scan_terms[lane - reach] : NOTHING;
        barrier();
        scan_terms[lane] = BOTH(before, scan_terms[lane]);
        barrier();
    }
    TERM run = lane > 0 ? scan_terms[lane - 1] : NOTHING;
    for (int k = begin; k < end; ++k) {
        TERM own = scratch[GROUP * CHUNKS + k];
        scratch[GROUP * CHUNKS + k] = run;
        run = BOTH(run, own);
    }
}
