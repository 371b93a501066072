// Philox 4x32-10 (Salmon et al. 2011), bit-equal to core/philox.py.

uvec4 philox(uvec4 counter, uvec2 key) {
    for (int turn = 0; turn < 10; ++turn) {
        uint high0, low0, high1, low1;
        umulExtended(0xD2511F53u, counter.x, high0, low0);
        umulExtended(0xCD9E8D57u, counter.z, high1, low1);
        counter = uvec4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

// Uniform in [0, 1) with 24 bits; exact in float32.
float unit_of(uint bits) { return float(bits >> 8) * 5.9604644775390625e-08; }

// Four words of a sequence, from any one on.
uvec4 words_from(uint begin, uint time, uint stream_number, uvec2 key) {
    uvec4 found = philox(uvec4(begin >> 2, time, stream_number, 0u), key);
    uint skipped = begin & 3u;
    if (skipped == 0u) return found;
    uvec4 next = philox(uvec4((begin >> 2) + 1u, time, stream_number, 0u), key);
    for (uint k = 0u; k < skipped; ++k) found = uvec4(found.yzw, next[k]);
    return found;
}

// Uniform number `index` of a sequence: word index & 3 of block index >> 2.
float uniform_at(uint index, uint time, uint stream_number, uint lane, uvec2 key) {
    return unit_of(philox(uvec4(index >> 2, time, stream_number, lane), key)[index & 3u]);
}
