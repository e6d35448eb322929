// Own kernels, one for each mechanism: memory spaces, tokens, math, loops, branches, barriers, calls, spills.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

__kernel void saxpy(__global const float *x, __global float *y, float a, int n) {
    int i = get_global_id(0);
    if (i < n) y[i] = a * x[i] + y[i];
}

__kernel void chase(__global const int *next, __global int *out, int steps) {
    int at = get_global_id(0);
    for (int k = 0; k < steps; k++) at = next[at];
    out[get_global_id(0)] = at;
}

__kernel void tile(__global const float *a, __global const float *b, __global float *c, int n, __local float *s) {
    int x = get_local_id(0), g = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < n; k += 16) {
        s[x] = a[g * n + k + x % 16];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 16; j++) sum += s[(x + j) % 64] * b[(k + j) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[g] = sum;
}

__kernel void functions(__global const float *x, __global float *y) {
    int i = get_global_id(0);
    float v = x[i];
    y[i] = native_sin(v) + native_rsqrt(v) + native_exp2(v) * native_log2(v) + v / x[i + 1] + sqrt(v);
}

__kernel void count(__global const uint *x, __global uint *bins, __local uint *s, int n) {
    int i = get_global_id(0), l = get_local_id(0);
    s[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = i; k < n; k += get_global_size(0)) atomic_inc(&s[x[k] & 63]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[l], s[l]);
}

__kernel void branches(__global const int *x, __global int *y, int n) {
    int i = get_global_id(0), v = x[i], r = 0;
    while (v > 1 && r < n) {
        if (v & 1) { v = 3 * v + 1; if (r > 20) break; }
        else if (v % 3 == 0) { v = v / 3 + y[r]; }
        else v >>= 1;
        r++;
    }
    y[i] = r;
}

__kernel void integers(__global const long *x, __global long *y, __global const short *s, __global const char *c) {
    int i = get_global_id(0);
    long v = x[i] * 3 + s[i];
    v ^= (long)c[i] << 17;
    y[i] = v * x[i + 1] + rotate(v, 5L) + popcount(v);
}

__kernel void halves(__global const half *x, __global half *y, __global const uchar4 *z) {
    int i = get_global_id(0);
    uchar4 q = z[i];
    y[i] = x[i] * (half)2.0f + (half)(q.x + q.y * q.z - q.w);
}

__kernel void block(__global const uint *x, __global uint *y) {
    uint v = sub_group_reduce_add(x[get_global_id(0)]);
    v += sub_group_scan_inclusive_add(x[get_global_id(0) + 1]);
    y[get_global_id(0)] = v + sub_group_broadcast(v, 3);
}

__kernel void spill(__global const float *x, __global float *y, int n) {
    float v[96];
    int i = get_global_id(0);
    for (int k = 0; k < 96; k++) v[k] = x[i * 96 + k];
    for (int k = 0; k < n; k++)
        for (int j = 0; j < 96; j++) v[j] = v[j] * v[(j * 7 + 5) % 96] + v[(j + 13) % 96];
    for (int k = 0; k < 96; k++) y[i * 96 + k] = v[k];
}

__kernel void indexed(__global const float *x, __global float *y, __global const int *at) {
    float v[12];
    int i = get_global_id(0);
    for (int k = 0; k < 12; k++) v[k] = x[i + 64 * k];
    y[i] = v[at[i] % 12] + v[at[i + 1] % 12];
}

__kernel void stencil(__global const float *x, __global float *y, int w, int h) {
    int i = get_global_id(0), j = get_global_id(1);
    if (i < 1 || j < 1 || i >= w - 1 || j >= h - 1) return;
    int p = j * w + i;
    y[p] = 0.2f * (x[p] + x[p - 1] + x[p + 1] + x[p - w] + x[p + w]);
}

__kernel void matrix(__global const float *a, __global const float *b, __global float *c, int n) {
    int i = get_global_id(0), j = get_global_id(1);
    float4 sum = 0;
    for (int k = 0; k < n; k += 4) {
        float4 l = vload4(0, a + j * n + k);
        sum += l.x * vload4(0, b + k * n + 4 * i) + l.y * vload4(0, b + (k + 1) * n + 4 * i);
        sum += l.z * vload4(0, b + (k + 2) * n + 4 * i) + l.w * vload4(0, b + (k + 3) * n + 4 * i);
    }
    vstore4(sum, 0, c + j * n + 4 * i);
}

__attribute__((noinline)) float helper(float v, int n) {
    for (int k = 0; k < n; k++) v = v * v + 0.5f;
    return v;
}

__kernel void called(__global const float *x, __global float *y, int n) {
    int i = get_global_id(0);
    y[i] = helper(x[i], n) + helper(x[i + 1], n + 1);
}
