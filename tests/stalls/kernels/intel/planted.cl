// Kernels for planted causes (tests/planted): each class of cause in the simplest code that a person would write, all
// with loops, so that where the time goes is decided by a latency and not by the prologue.
#define IN __global const float *restrict
#define OUT __global float *restrict

// one slow load among k: streams that arrive together, each used on its own
__kernel void among4(IN a, IN b, IN c, IN d, OUT y, int n, int s) {
    float r = 0;
    for (int k = 0, i = get_global_id(0); k < n; ++k, i += s) r = (r + a[i]) * b[i] + c[i] * 0.5f - r * d[i];
    y[get_global_id(0)] = r;
}
__kernel void among8(IN a, IN b, IN c, IN d, IN e, IN f, IN g, IN h, OUT y, int n, int s) {
    float r = 0;
    for (int k = 0, i = get_global_id(0); k < n; ++k, i += s) {
        r += a[i] * b[i];
        r = r * c[i] + d[i];
        r = r * e[i] - f[i];
        r = r * g[i] + h[i];
    }
    y[get_global_id(0)] = r;
}
// a gather: the index is a load, the value another
__kernel void gather(__global const int *restrict at, IN x, IN w, OUT y, int n, int s) {
    float r = 0;
    for (int k = 0, i = get_global_id(0); k < n; ++k, i += s) r += x[at[i]] * w[i];
    y[get_global_id(0)] = r;
}
// loads that meet branches: divergence
__kernel void branchy(IN a, IN b, IN c, OUT y, int n, int s) {
    float r = 0;
    for (int k = 0, i = get_global_id(0); k < n; ++k, i += s) {
        float v = a[i];
        if (v > r) r += b[i] * v;
        else r -= c[i];
    }
    y[get_global_id(0)] = r;
}

// loop-carried: what one round loads, the next uses (volatile: the compiler leaves the loads where they stand)
__kernel void ahead2(__global const volatile float *a, __global const volatile float *b, OUT y, int n, int s) {
    int i = get_global_id(0);
    float p = y[i], q = y[i + 1], r = 0;
    for (int k = 0; k < n; ++k) {
        r = r * p + q;
        r = r * 0.5f + p;
        p = a[i];
        q = b[i];
        i += s;
    }
    y[get_global_id(0)] = r;
}
__kernel void ahead4(__global const volatile float *a, OUT y, int n, int s) {
    int i = get_global_id(0);
    float p = y[i], q = y[i + 1], u = y[i + 2], v = y[i + 3], r = 0;
    for (int k = 0; k < n; ++k, i += s) {
        r = r * p + 1.0f;
        p = a[i];
        r = r * q + 2.0f;
        q = a[i + 1031];
        r = r * u + 3.0f;
        u = a[i + 2063];
        r = r * v + 4.0f;
        v = a[i + 3089];
    }
    y[get_global_id(0)] = r;
}
__kernel void walk(__global const int *restrict next, IN x, OUT y, int n) {
    int p = get_global_id(0);
    float r = 0;
    for (int k = 0; k < n; ++k) {
        r += x[p];
        p = next[p];
    }
    y[get_global_id(0)] = r;
}

// WAR: stores whose data and addresses are overwritten while they're on their way
__kernel void produce(IN a, __global float4 *restrict y, int n, int s) {
    int i = get_global_id(0);
    float4 v = (float4)(a[i], a[i + s], a[i + 2 * s], a[i + 3 * s]);
    for (int k = 0; k < n; ++k, i += s) {
        y[i] = v;
        v = v * v + 1.0f;
    }
}
__kernel void produce2(IN a, OUT x, OUT y, int n, int s) {
    int i = get_global_id(0);
    float v = a[i], w = a[i + s];
    for (int k = 0; k < n; ++k, i += s) {
        x[i] = v;
        y[i] = w;
        v = v * w + 1.0f;
        w = w * 0.5f - v;
    }
}

// spill: more live values than registers
__kernel void spilled(IN x, OUT y, int n) {
    float v[72];
    int i = get_global_id(0);
#pragma unroll
    for (int k = 0; k < 72; k++) v[k] = x[i + k * n];
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int j = 0; j < 72; j += 2) v[j] = v[j] * v[(j + 37) % 72] + v[j + 1];
    }
    float s = 0;
#pragma unroll
    for (int k = 0; k < 72; k++) s += v[k];
    y[i] = s;
}

// hand-off through shared memory: store, barrier, load
__attribute__((reqd_work_group_size(256, 1, 1))) __kernel void handoff(IN a, IN b, OUT y, int n, int s) {
    __local float tile[256], more[256];
    int t = get_local_id(0), i = get_global_id(0);
    float r = 0;
    for (int k = 0; k < n; ++k, i += s) {
        tile[t] = a[i];
        more[t] = b[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[t ^ 1] * more[t ^ 3] + tile[t ^ 7];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    y[get_global_id(0)] = r;
}
__attribute__((reqd_work_group_size(256, 1, 1))) __kernel void scan(IN a, OUT y, int n, int s) {
    __local float tile[256];
    int t = get_local_id(0), i = get_global_id(0);
    float r = 0;
    for (int k = 0; k < n; ++k, i += s) {
        tile[t] = a[i] + r;
        barrier(CLK_LOCAL_MEM_FENCE);
        float u = tile[t ^ 1];
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[t] = u * u;
        barrier(CLK_LOCAL_MEM_FENCE);
        r += tile[(t + 5) & 255];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    y[get_global_id(0)] = r;
}

// token re-use: more loads in flight than there are tokens
__kernel void tokens(IN a, OUT y, int n, int s) {
    float r = 0;
    for (int k = 0, i = get_global_id(0); k < n; ++k, i += s) {
        float v[24];
        for (int j = 0; j < 24; ++j) v[j] = a[i + j * 1031];
        for (int j = 0; j < 24; ++j) r = r * v[j] + 1.0f;
    }
    y[get_global_id(0)] = r;
}
__kernel void tokens2(IN a, IN b, OUT y, OUT z, int n, int s) {
    float r = 0;
    for (int k = 0, i = get_global_id(0); k < n; ++k, i += s) {
        float v[10], w[10];
        for (int j = 0; j < 10; ++j) v[j] = a[i + j * 1031];
        for (int j = 0; j < 10; ++j) z[i + j * 517] = v[j] * r;
        for (int j = 0; j < 10; ++j) w[j] = b[i + j * 911];
        for (int j = 0; j < 10; ++j) r = r * w[j] + v[j];
    }
    y[get_global_id(0)] = r;
}
// special functions between loads
__kernel void special(IN a, IN b, OUT y, int n, int s) {
    float r = 0;
    for (int k = 0, i = get_global_id(0); k < n; ++k, i += s)
        r = native_sin(r + a[i]) * native_rsqrt(b[i]) + native_exp2(r);
    y[get_global_id(0)] = r;
}
