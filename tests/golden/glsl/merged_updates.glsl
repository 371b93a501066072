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
void main() {
    if (GROUP >= LAUNCH_0) return;
    int row = GROUP * 5;
    int count = table[row];
    float lr = rates(step_word(0) % 4);
    float t = float(step_word(3));
    float once_c1 = one_minus_power(0.9, t);
    float once_c2 = one_minus_power(0.999, t);
    float once_part = lr * (root(once_c2) / once_c1);
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
            float w_one = w_four[0];
            float g_one = g_four[0];
            float m_one = m_four[0];
            float v_one = v_four[0];
            m_one = 0.9 * m_one + 0.100000024 * g_one;
            v_one = 0.999 * v_one + 0.0009999871 * g_one * g_one;
            float its_seen = v_one;
            w_one = w_one - once_part * m_one / (root(its_seen) + 1e-07);
            w_four[0] = w_one;
            m_four[0] = m_one;
            v_four[0] = v_one;
        }
        {
            float w_one = w_four[1];
            float g_one = g_four[1];
            float m_one = m_four[1];
            float v_one = v_four[1];
            m_one = 0.9 * m_one + 0.100000024 * g_one;
            v_one = 0.999 * v_one + 0.0009999871 * g_one * g_one;
            float its_seen = v_one;
            w_one = w_one - once_part * m_one / (root(its_seen) + 1e-07);
            w_four[1] = w_one;
            m_four[1] = m_one;
            v_four[1] = v_one;
        }
        {
            float w_one = w_four[2];
            float g_one = g_four[2];
            float m_one = m_four[2];
            float v_one = v_four[2];
            m_one = 0.9 * m_one + 0.100000024 * g_one;
            v_one = 0.999 * v_one + 0.0009999871 * g_one * g_one;
            float its_seen = v_one;
            w_one = w_one - once_part * m_one / (root(its_seen) + 1e-07);
            w_four[2] = w_one;
            m_four[2] = m_one;
            v_four[2] = v_one;
        }
        {
            float w_one = w_four[3];
            float g_one = g_four[3];
            float m_one = m_four[3];
            float v_one = v_four[3];
            m_one = 0.9 * m_one + 0.100000024 * g_one;
            v_one = 0.999 * v_one + 0.0009999871 * g_one * g_one;
            float its_seen = v_one;
            w_one = w_one - once_part * m_one / (root(its_seen) + 1e-07);
            w_four[3] = w_one;
            m_four[3] = m_one;
            v_four[3] = v_one;
        }
        w_data[w_at] = w_four;
        m_data[m_at] = m_four;
        v_data[v_at] = v_four;
    }
}
