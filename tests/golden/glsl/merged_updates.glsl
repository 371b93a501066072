== update_adam (4, 1, 1) (4, 0)
layout(local_size_x = 256, local_size_y = 1, local_size_z = 1) in;
#line 200

layout(std430, binding = 0) readonly buffer table_block { int table[]; };
layout(std430, binding = 1) readonly buffer step_word_block { int step_word_data[]; };
int step_word_load(int cell) { return step_word_data[cell]; }
int step_word_cell(int i0) { return i0; }
int step_word(int i0) { return step_word_load(step_word_cell(i0)); }
layout(std430, binding = 2) readonly buffer rates_block { float rates_data[]; };
float rates_load(int cell) { return rates_data[cell]; }
int rates_cell(int i0) { return i0; }
float rates(int i0) { return rates_load(rates_cell(i0)); }
layout(std430, binding = 3) buffer w_block { vec4 w_data[]; };
layout(std430, binding = 4) readonly buffer g_block { vec4 g_data[]; };
layout(std430, binding = 5) buffer m_block { vec4 m_data[]; };
layout(std430, binding = 6) buffer v_block { vec4 v_data[]; };
#define beta1 0.9
#define beta2 0.999
#define eps 1e-07
#define decay RUNTIME_ZERO
#define shrink RUNTIME_ZERO
void main() {
    if (GROUP >= LAUNCH_0) return;
    int row = GROUP * 5;
    int count = table[row];
    float lr = rates(step_word(0) % 4);
    float t = float(step_word(3));
    for (int q = int(gl_LocalInvocationIndex); q * 4 < count; q += 256) {
        int w_at = table[row + 1] + q;
        int g_at = table[row + 2] + q;
        int m_at = table[row + 3] + q;
        int v_at = table[row + 4] + q;
        vec4 w_four = w_data[w_at];
        vec4 g_four = g_data[g_at];
        vec4 m_four = m_data[m_at];
        vec4 v_four = v_data[v_at];
        {
            float w = w_four[0];
            float g = g_four[0];
            float m = m_four[0];
            float v = v_four[0];
            m = beta1 * m + (1.0 - beta1) * g; v = beta2 * v + (1.0 - beta2) * g * g; float c1 = one_minus_power(beta1, t); float c2 = one_minus_power(beta2, t); w -= lr * (sqrt(c2) / c1) * m / (root(v) + eps);
            w_four[0] = w;
            m_four[0] = m;
            v_four[0] = v;
        }
        {
            float w = w_four[1];
            float g = g_four[1];
            float m = m_four[1];
            float v = v_four[1];
            m = beta1 * m + (1.0 - beta1) * g; v = beta2 * v + (1.0 - beta2) * g * g; float c1 = one_minus_power(beta1, t); float c2 = one_minus_power(beta2, t); w -= lr * (sqrt(c2) / c1) * m / (root(v) + eps);
            w_four[1] = w;
            m_four[1] = m;
            v_four[1] = v;
        }
        {
            float w = w_four[2];
            float g = g_four[2];
            float m = m_four[2];
            float v = v_four[2];
            m = beta1 * m + (1.0 - beta1) * g; v = beta2 * v + (1.0 - beta2) * g * g; float c1 = one_minus_power(beta1, t); float c2 = one_minus_power(beta2, t); w -= lr * (sqrt(c2) / c1) * m / (root(v) + eps);
            w_four[2] = w;
            m_four[2] = m;
            v_four[2] = v;
        }
        {
            float w = w_four[3];
            float g = g_four[3];
            float m = m_four[3];
            float v = v_four[3];
            m = beta1 * m + (1.0 - beta1) * g; v = beta2 * v + (1.0 - beta2) * g * g; float c1 = one_minus_power(beta1, t); float c2 = one_minus_power(beta2, t); w -= lr * (sqrt(c2) / c1) * m / (root(v) + eps);
            w_four[3] = w;
            m_four[3] = m;
            v_four[3] = v;
        }
        w_data[w_at] = w_four;
        m_data[m_at] = m_four;
        v_data[v_at] = v_four;
    }
}
