// global_norm, one gradient: the squares of its elements.
float term(int i) {
    float value = part_at(i);
    return value * value;
}
