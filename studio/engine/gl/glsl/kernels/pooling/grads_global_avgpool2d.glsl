// grads_global_avgpool2d: dx[n,h,w,c] = dy[n,c] / (H W).
float kernel(int e) {
    int inner = DX_D1 * DX_D2 * DX_D3;
    return dy(e / inner, e % DX_D3) / float(DX_D1 * DX_D2);
}
