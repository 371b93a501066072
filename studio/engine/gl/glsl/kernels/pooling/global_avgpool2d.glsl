// global_avgpool2d: y[n,c] = sum over h, w of x[n,h,w,c] / (H W).
float kernel(int e) {
    int n = e / X_D3, c = e % X_D3;
    float sum = 0.0;
    for (int h = 0; h < X_D1; ++h) {
        for (int w = 0; w < X_D2; ++w) sum += x(n, h, w, c);
    }
    return sum / float(X_D1 * X_D2);
}
