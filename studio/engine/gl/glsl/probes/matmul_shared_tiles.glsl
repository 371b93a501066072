// matmul: c(r, q) = sum over k of a(r, k) * b(k, q), square; a 64 x 64 tile a group through shared
// memory, 4 x 4 results an invocation: the shape GPUs like
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { vec4 a[]; };
layout(std430, binding = 1) readonly buffer B { vec4 b[]; };
layout(std430, binding = 2) writeonly buffer C { vec4 c[]; };

shared float tile_a[16][64];
shared vec4 tile_b[16][16];

void main() {
    // The side is 16 times the groups along x times 4.
    int quads = int(gl_NumWorkGroups.x) * 16;
    int row = int(gl_WorkGroupID.y) * 64, quad = int(gl_WorkGroupID.x) * 16;
    int tx = int(gl_LocalInvocationID.x), ty = int(gl_LocalInvocationID.y);
    int t = ty * 16 + tx;
    vec4 sums[4] = vec4[4](vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
    for (int k = 0; k < quads * 4; k += 16) {
        vec4 part = a[(row + t / 4) * quads + k / 4 + t % 4];
        for (int j = 0; j < 4; ++j) tile_a[t % 4 * 4 + j][t / 4] = part[j];
        tile_b[ty][tx] = b[(k + ty) * quads + quad + tx];
        barrier();
        for (int j = 0; j < 16; ++j) {
            vec4 right = tile_b[j][tx];
            for (int r = 0; r < 4; ++r) sums[r] += tile_a[j][ty * 4 + r] * right;
        }
        barrier();
    }
    for (int r = 0; r < 4; ++r) c[(row + ty * 4 + r) * quads + quad + tx] = sums[r];
}
