// spin: keeps the device busy for LAUNCH_0 dependent steps while the host queues what is to be timed.
layout(std430, binding = 0) buffer word_block { uint word; };
void main() {
    uint x = word;
    for (int i = 0; i < LAUNCH_0; ++i) x = x * 1664525u + 1013904223u;
    word = x;
}
