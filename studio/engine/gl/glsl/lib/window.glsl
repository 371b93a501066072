// Where windows lie: the pass gives KH, KW, OUT_H, OUT_W, IN_H, IN_W, CHANNELS, FILTERS, STRIDE_H,
// STRIDE_W; pads and dilation are the instruction's. HALO says that x has cells of zero all around.

// Position p = (n, i, j) of a result: first row and column of its window, and the entry of the batch.
ivec3 window_of(int p) {
    int j = p % OUT_W;
    p /= OUT_W;
    int i = p % OUT_H;
    return ivec3(i * stride_h - pad_h, j * stride_w - pad_w, p / OUT_H);
}

// Tap k = (r, s, channel) of a filter over `count` channels: rows and columns into the window.
ivec3 tap_of(int k, int count) {
    int channel = k % count;
    k /= count;
    return ivec3(k / KW * dil_h, k % KW * dil_w, channel);
}

// Negative indices are large unsigned ones.
bool inside(int h, int w) { return uint(h) < uint(IN_H) && uint(w) < uint(IN_W); }

// A cell that is always there: reading it and dropping the value is cheaper than not reading.
#define SAFE 0
