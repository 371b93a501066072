// Hyperbolic functions, their inverses and the error function. The polynomials are fits of our own
// towards equal relative errors; drivers' sinh, asinh and atanh lose all digits near 0.

// e^(x/2) twice: the result may be a float where e^x is none.
float sine_h(float x) {
    if (is_nan(x)) return x;
    float size = abs(x), z = x * x;
    if (size < 1.0)
        return x + x * z * (0.16666667 + z * (0.008333339 + z * (0.00019838123 + z * 2.8061418e-6)));
    float root = exp(0.5 * size), y = 0.5 * root * root - 0.5 / root / root;
    return x < 0.0 ? -y : y;
}

float cosine_h(float x) {
    if (is_nan(x)) return x;
    float root = exp(0.5 * abs(x));
    return 0.5 * root * root + 0.5 / root / root;
}

// From 4096 on ln 2x is as near.
float area_sine_h(float x) {
    if (is_nan(x)) return x;
    float size = abs(x), z = x * x;
    float y = size > 4096.0 ? log(size) + 0.6931472
        : logarithm_1_plus(size + z / (1.0 + sqrt(1.0 + z)));
    return x < 0.0 ? -y : x == 0.0 ? x : y;
}

float area_cosine_h(float x) {
    if (!(x >= 1.0)) return NOT_A_NUMBER;
    if (x > 4096.0) return log(x) + 0.6931472;
    float more = x - 1.0;
    return logarithm_1_plus(more + sqrt(more * (more + 2.0)));
}

float area_tangent_h(float x) {
    float size = abs(x);
    if (!(size <= 1.0)) return NOT_A_NUMBER;
    float y = size == 1.0 ? INFINITE : 0.5 * logarithm_1_plus(2.0 * size / (1.0 - size));
    return x < 0.0 ? -y : x == 0.0 ? x : y;
}

// As cpu/elementwise/graph.py.
float error_function(float x) {
    if (is_nan(x)) return x;
    float z = x * x;
    float high = -0.02685381 + z * (0.0051883277 + z * (-0.00080101925 + z * 7.853858e-5));
    if (abs(x) < 1.0)
        return x * (1.1283791 + z * (-0.37612626 + z * (0.11283585 + z * high)));
    float y = 1.0 - 2.0 * normal_share(-1.4142135 * abs(x));
    return x < 0.0 ? -y : y;
}
