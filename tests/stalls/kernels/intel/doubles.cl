#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void doubles(__global const double *x, __global double *y, int n) {
    int i = get_global_id(0);
    double v = x[i], s = 0;
    for (int k = 0; k < n; k++) { s += v / (s + x[k]); v = fma(v, s, x[i + k]); }
    y[i] = sqrt(s) + v;
}
