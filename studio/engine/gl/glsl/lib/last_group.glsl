// Work groups that share a result find out which of them comes last, by counters that are zero before
// and after. What the others stored in coherent storage is there for the last one to read.
#if JOINS
shared bool last_one;

// Whether all other work groups of a tile have stored their sums; then its counter is zero again.
bool arrived_last(int tile) {
    memoryBarrierBuffer();
    memoryBarrierShared();
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        last_one = atomicAdd(arrivals[tile], 1u) + 1u == uint(LAUNCH_0);
        if (last_one) arrivals[tile] = 0u;
    }
    memoryBarrierShared();
    barrier();
    memoryBarrierBuffer();
    return last_one;
}
#endif
