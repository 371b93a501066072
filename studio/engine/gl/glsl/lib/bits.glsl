// Functions of the bits of whole numbers. GLSL leaves shifts by less than 0 or more than 31 open.

int bit_and(int a, int b) { return a & b; }
int bit_or(int a, int b) { return a | b; }
int bit_xor(int a, int b) { return a ^ b; }
int bit_not(int x) { return ~x; }
int shift_left(int a, int b) { return b < 0 || b > 31 ? 0 : a << b; }
int shift_right(int a, int b) { return a >> (b < 0 || b > 31 ? 31 : b); }
