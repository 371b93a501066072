// copy: y(i) = x(i), four values an invocation
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Source { vec4 x[]; };
layout(std430, binding = 1) writeonly buffer Target { vec4 y[]; };

void main() {
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 256u
        + gl_LocalInvocationIndex;
    y[i] = x[i];
}
