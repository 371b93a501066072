// Count, mean and sum of squared deviations of two sets together (Chan et al. 1979).
vec3 joined(vec3 a, vec3 b) {
    if (a.x == 0.0) return b;
    if (b.x == 0.0) return a;
    float count = a.x + b.x, d = b.y - a.y;
    return vec3(count, a.y + d * (b.x / count), a.z + b.z + d * d * (a.x * b.x / count));
}

// How many of so many rows a part has, parts taking some at once, in turn.
float count_of(int part, int parts, int at_once, int rows) {
    int left = rows % (at_once * parts) - part * at_once;
    return float(rows / (at_once * parts) * at_once + clamp(left, 0, at_once));
}
