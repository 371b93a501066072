// topk_keys: the keys of a sort of all lines at once; a place is that of an element in its line, line
// by line.
#include "ranked.glsl"
void main() {
    int place = THREAD;
    if (place >= X_NUMEL) return;
    int line = place / LENGTH, p = place % LENGTH;
    int n = (line / INNER * LENGTH + p) * INNER + line % INNER;
    scratch[place] = int(ranked_key(n));
    scratch[X_NUMEL + place] = place;
}
