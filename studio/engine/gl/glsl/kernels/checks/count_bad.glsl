// count_bad: counts the elements of y that are NaN or infinite, by their bits.
layout(std430, binding = 1) buffer found_block { uint bad_count; };
void main() {
    int i = THREAD;
    if (i < Y_NUMEL && is_bad(y_at(i))) atomicAdd(bad_count, 1u);
}
