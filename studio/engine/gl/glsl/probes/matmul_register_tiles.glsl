// matmul: c(r, q) = sum over k of a(r, k) * b(k, q), square; 8 x 8 results an invocation, no shared
// memory and no barrier: the shape software renderers like
layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer A { vec4 a[]; };
layout(std430, binding = 1) readonly buffer B { vec4 b[]; };
layout(std430, binding = 2) writeonly buffer C { vec4 c[]; };

void main() {
    // A group covers 8 rows and 64 columns.
    int quads = int(gl_NumWorkGroups.x) * 16;
    int row = int(gl_WorkGroupID.y) * 8, quad = int(gl_GlobalInvocationID.x) * 2;
    vec4 left_sums[8], right_sums[8];
    for (int r = 0; r < 8; ++r) { left_sums[r] = vec4(0.0); right_sums[r] = vec4(0.0); }
    for (int k = 0; k < quads; ++k) {
        vec4 left[4], right[4];
        for (int j = 0; j < 4; ++j) {
            left[j] = b[(k * 4 + j) * quads + quad];
            right[j] = b[(k * 4 + j) * quads + quad + 1];
        }
        for (int r = 0; r < 8; ++r) {
            vec4 part = a[(row + r) * quads + k];
            left_sums[r] += part.x * left[0] + part.y * left[1]
                + part.z * left[2] + part.w * left[3];
            right_sums[r] += part.x * right[0] + part.y * right[1]
                + part.z * right[2] + part.w * right[3];
        }
    }
    for (int r = 0; r < 8; ++r) {
        c[(row + r) * quads + quad] = left_sums[r];
        c[(row + r) * quads + quad + 1] = right_sums[r];
    }
}
