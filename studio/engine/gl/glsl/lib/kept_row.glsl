// A row of p, gone over several times by invocations that share it (lanes.glsl): element j of an invocation is
// element own_place(j) of the row, if owns(j). Few are kept, so that they are read once and at the same time.
#define PER_LANE ((CLASSES + LANES - 1) / LANES)

int own_place(int j) { return lane_number() + j * LANES; }

bool owns(int j) { return own_place(j) < CLASSES; }

#if PER_LANE <= 16
#pragma optionNV(unroll all)
float row_values[PER_LANE];

void keep_row(int first) {
    for (int j = 0; j < PER_LANE; ++j) row_values[j] = p_at(first + min(own_place(j), CLASSES - 1));
}

float row_value(int first, int j) { return row_values[j]; }
#else
void keep_row(int first) {}

float row_value(int first, int j) { return p_at(first + min(own_place(j), CLASSES - 1)); }
#endif
