// How what is scattered meets what is there, and which of several took part.
#if REDUCTION == REDUCTION_ADD
#define MEET(a, b) ((a) + (b))
#elif REDUCTION == REDUCTION_MUL
#define MEET(a, b) ((a) * (b))
#elif REDUCTION == REDUCTION_MAX
#define MEET(a, b) larger(a, b)
#elif REDUCTION == REDUCTION_MIN
#define MEET(a, b) smaller(a, b)
#else
#define MEET(a, b) (b)
#endif

bool alike(float a, float b) { return a == b || (is_nan(a) && is_nan(b)); }
