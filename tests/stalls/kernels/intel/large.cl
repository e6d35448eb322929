// Own kernels with what the small ones lack: real spills, the systolic array, and long straight lines of code.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#ifdef PVC
#define LANES 16
#define SPILL_LANES 32
#define HALVES short8
#else
#define LANES 8
#define SPILL_LANES 16
#define HALVES int8
#endif

float8 __attribute__((overloadable)) intel_sub_group_f16_f16_matrix_mad_k16(HALVES a, int8 b, float8 sum);
float8 __attribute__((overloadable)) intel_sub_group_bf16_bf16_matrix_mad_k16(HALVES a, int8 b, float8 sum);
int8 __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32(HALVES a, int8 b, int8 sum);

__attribute__((intel_reqd_sub_group_size(LANES)))
__kernel void systolic(__global const HALVES *a, __global const int8 *b, __global float8 *c, int n) {
    int l = get_global_id(0);
    float8 sum = 0.0f;
    for (int k = 0; k < n; k++) sum = intel_sub_group_f16_f16_matrix_mad_k16(a[k * LANES + l], b[k * LANES + l], sum);
    c[l] = sum;
}

// Two by two tiles of accumulators: chains of DPAS on several tokens, operands shared among them.
__attribute__((intel_reqd_sub_group_size(LANES)))
__kernel void tiles(__global const HALVES *a, __global const int8 *b, __global float8 *c, int n) {
    int l = get_global_id(0);
    float8 p = 0.0f, q = 0.0f, r = 0.0f, s = 0.0f;
    for (int k = 0; k < n; k++) {
        HALVES x = a[2 * k * LANES + l], y = a[(2 * k + 1) * LANES + l];
        int8 u = b[2 * k * LANES + l], v = b[(2 * k + 1) * LANES + l];
        p = intel_sub_group_bf16_bf16_matrix_mad_k16(x, u, p);
        q = intel_sub_group_bf16_bf16_matrix_mad_k16(x, v, q);
        r = intel_sub_group_bf16_bf16_matrix_mad_k16(y, u, r);
        s = intel_sub_group_bf16_bf16_matrix_mad_k16(y, v, s);
    }
    c[l] = p;
    c[l + LANES] = q * 2.0f;
    c[l + 2 * LANES] = native_exp2(r);
    c[l + 3 * LANES] = s;
}

__attribute__((intel_reqd_sub_group_size(LANES)))
__kernel void bytes(__global const HALVES *a, __global const int8 *b, __global int8 *c, int n, __local int8 *s) {
    int l = get_local_id(0), g = get_global_id(0);
    int8 sum = 0;
    for (int k = 0; k < n; k++) {
        s[l] = b[k * LANES + g];
        barrier(CLK_LOCAL_MEM_FENCE);
        sum = intel_sub_group_i8_i8_matrix_mad_k32(a[k * LANES + g], s[l ^ 1], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[g] = sum;
}

// More values than registers, all named at compile time: spills to scratch and reloads.
#define VALUES 72
__attribute__((intel_reqd_sub_group_size(SPILL_LANES)))
__kernel void spilled(__global const float *x, __global float *y, int n) {
    int i = get_global_id(0);
    float v[VALUES];
    #pragma unroll
    for (int k = 0; k < VALUES; k++) v[k] = x[i + k * n];
    for (int r = 0; r < n; r++) {
        #pragma unroll
        for (int k = 0; k < VALUES; k++) v[k] = v[k] * v[(k + VALUES / 2) % VALUES] + v[(k + 7) % VALUES];
    }
    #pragma unroll
    for (int k = 0; k < VALUES; k++) y[i + k * n] = v[k];
}

__attribute__((intel_reqd_sub_group_size(SPILL_LANES)))
__kernel void branchy_spills(__global const int *x, __global int *y, int n) {
    int i = get_global_id(0);
    int v[VALUES];
    #pragma unroll
    for (int k = 0; k < VALUES; k++) v[k] = x[i + k * n];
    for (int r = 0; r < n; r++) {
        if (v[r & 1] > 3) {
            #pragma unroll
            for (int k = 0; k < VALUES; k++) v[k] = (v[k] ^ v[(k + 5) % VALUES]) + r;
        } else {
            #pragma unroll
            for (int k = 0; k < VALUES; k += 2) v[k] = mad24(v[k], v[(k + 11) % VALUES], r);
        }
    }
    #pragma unroll
    for (int k = 0; k < VALUES; k++) y[i + k * n] = v[k];
}

__kernel void sort(__global uint *x, __local uint *s) {
    int l = get_local_id(0);
    s[l] = x[get_global_id(0)];
    for (int k = 2; k <= 128; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int other = l ^ j;
            uint a = s[l], b = s[other];
            barrier(CLK_LOCAL_MEM_FENCE);
            s[l] = ((l & k) == 0) == (l < other) ? min(a, b) : max(a, b);
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = s[l];
}

// A Fourier transform of eight points a lane, in registers.
__kernel void fourier(__global float2 *x, int n) {
    int i = get_global_id(0);
    float2 v[8];
    #pragma unroll
    for (int k = 0; k < 8; k++) v[k] = x[i + k * n];
    #pragma unroll
    for (int h = 1; h < 8; h <<= 1)
        #pragma unroll
        for (int k = 0; k < 8; k++)
            if ((k & h) == 0) {
                float c = native_cos(i * k * 0.1f), s = native_sin(i * k * 0.1f);
                float2 t = (float2)(v[k + h].x * c - v[k + h].y * s, v[k + h].x * s + v[k + h].y * c);
                v[k + h] = v[k] - t;
                v[k] += t;
            }
    #pragma unroll
    for (int k = 0; k < 8; k++) x[i + k * n] = v[k];
}

__kernel void bodies(__global const float4 *p, __global float4 *v, int n, float dt, __local float4 *s) {
    int g = get_global_id(0), l = get_local_id(0);
    float4 here = p[g], force = 0.0f;
    for (int k = 0; k < n; k += 64) {
        s[l] = p[k + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 64; j++) {
            float4 d = s[j] - here;
            float r = native_rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + 0.01f);
            force += d * (s[j].w * r * r * r);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v[g] += force * dt;
}

__kernel void polynomial(__global const float *x, __global float *y, __global const half *h, __global half *g) {
    int i = get_global_id(0);
    float v = x[i], r = 0;
    half w = h[i], q = 0;
    #pragma unroll
    for (int k = 0; k < 24; k++) { r = fma(r, v, 0.25f + k); q = fma(q, w, (half)(k & 3)); }
    y[i] = r / (1.0f + fabs(v)) + sqrt(r);
    g[i] = q;
}

__kernel void wide(__global const ulong *x, __global ulong *y, __global const uchar *c, int n) {
    int i = get_global_id(0);
    ulong h = 14695981039346656037UL, s = x[i];
    for (int k = 0; k < n; k++) {
        h = (h ^ c[i * n + k]) * 1099511628211UL;
        s ^= s << 13; s ^= s >> 7; s ^= s << 17;
        if (s % 3 == 0) h += mul_hi(s, h);
    }
    y[i] = h + s / (x[i + 1] | 1);
}

__kernel void scan(__global const int *x, __global int *y, __local int *s, int n) {
    int l = get_local_id(0), g = get_global_id(0);
    int v = sub_group_scan_inclusive_add(x[g]);
    if (get_sub_group_local_id() == get_sub_group_size() - 1) s[get_sub_group_id()] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < get_sub_group_id(); k++) v += s[k];
    y[g] = v;
    if (v > n) atomic_max(&y[n], v);
    else if (v < -n) atomic_xchg(&y[n + 1], l);
}

__kernel void search(__global const int *x, __global const int *keys, __global int *y, int n) {
    int i = get_global_id(0), low = 0, high = n, key = keys[i];
    while (low < high) {
        int middle = (low + high) >> 1, v = x[middle];
        if (v == key) { low = middle; break; }
        if (v < key) low = middle + 1;
        else high = middle;
    }
    switch (x[low] & 3) {
        case 0: y[i] = low; break;
        case 1: y[i] = high + x[low + 1]; break;
        case 2: y[i] += low; break;
        default: y[i] = -1;
    }
}

// Sixteen steps of two chains, in a straight line.
__attribute__((intel_reqd_sub_group_size(LANES)))
__kernel void chains(__global const HALVES *a, __global const int8 *b, __global float8 *c) {
    int l = get_global_id(0);
    float8 p = c[l], q = c[l + LANES];
    #pragma unroll
    for (int k = 0; k < 16; k++) {
        HALVES x = a[k * LANES + l];
        p = intel_sub_group_f16_f16_matrix_mad_k16(x, b[k * LANES + l], p * 0.5f);
        q = intel_sub_group_f16_f16_matrix_mad_k16(x, b[(k + 16) * LANES + l], q + p);
    }
    c[l] = p;
    c[l + LANES] = q;
}

// What the math unit hands to the others, and they to it.
__kernel void roots(__global const float *x, __global float *y, __global const int *z) {
    int i = get_global_id(0);
    float v = x[i];
    #pragma unroll
    for (int k = 0; k < 24; k++) v = native_sqrt(v + z[i + k]) * native_exp2(v - k) + (int)native_sin(v);
    y[i] = v;
}

#ifdef PVC
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void mixed(__global const double *x, __global double *y, __global const float *f, __global const int *z) {
    int i = get_global_id(0);
    double v = x[i];
    #pragma unroll
    for (int k = 0; k < 24; k++) v = fma(v, (double)f[i + k], (double)z[i + k]) + (float)v * f[k];
    y[i] = v;
}
#endif
