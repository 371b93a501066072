// Count, mean and sum of squared deviations of two sets together (Chan et al. 1979).
vec3 joined(vec3 a, vec3 b) {
    if (a.x == 0.0) return b;
    if (b.x == 0.0) return a;
    float count = a.x + b.x, d = b.y - a.y;
    return vec3(count, a.y + d * (b.x / count), a.z + b.z + d * d * (a.x * b.x / count));
}

// How many of so many rows a part has, parts taking AT_ONCE rows in turn.
float count_of(int part, int parts, int rows) {
    int left = rows % (AT_ONCE * parts) - part * AT_ONCE;
    return float(rows / (AT_ONCE * parts) * AT_ONCE + clamp(left, 0, AT_ONCE));
}
