// Kernels for planted causes (tests/planted): each class of cause in the simplest code that a person would write, all
// with loops, so that where the time goes is decided by a latency and not by the prologue.
#include "hipmini.h"
#define IN const float *__restrict__

// one slow load among k: streams that arrive together, each used on its own
__global__ void among4(IN a, IN b, IN c, IN d, float *__restrict__ y, int n, int s) {
  float r = 0;
  for (int k = 0, i = gid(); k < n; ++k, i += s) r = (r + a[i]) * b[i] + c[i] * 0.5f - r * d[i];
  y[gid()] = r;
}
__global__ void among8(IN a, IN b, IN c, IN d, IN e, IN f, IN g, IN h, float *__restrict__ y, int n, int s) {
  float r = 0;
  for (int k = 0, i = gid(); k < n; ++k, i += s) {
    r += a[i] * b[i];
    r = r * c[i] + d[i];
    r = r * e[i] - f[i];
    r = r * g[i] + h[i];
  }
  y[gid()] = r;
}
// a gather: the index is a load, the value another
__global__ void gather(const int *__restrict__ at, IN x, IN w, float *__restrict__ y, int n, int s) {
  float r = 0;
  for (int k = 0, i = gid(); k < n; ++k, i += s) r += x[at[i]] * w[i];
  y[gid()] = r;
}
// loads that meet branches: divergence
__global__ void branchy(IN a, IN b, IN c, float *__restrict__ y, int n, int s) {
  float r = 0;
  for (int k = 0, i = gid(); k < n; ++k, i += s) {
    float v = a[i];
    if (v > r) r += b[i] * v;
    else r -= c[i];
  }
  y[gid()] = r;
}

// loop-carried: what one round loads, the next uses
__global__ void ahead2(IN a, IN b, float *__restrict__ y, int n, int s) {
  int i = gid();
  float p = a[i], q = b[i], r = 0;
  for (int k = 0; k < n; ++k) {
    float u = p, v = q;
    i += s;
    p = a[i];
    q = b[i];
    __builtin_amdgcn_sched_barrier(0);
    r = r * u + v;
    r = r * 0.5f + u;
  }
  y[gid()] = r;
}
__global__ void walk(const int *__restrict__ next, IN x, float *__restrict__ y, int n) {
  int p = gid();
  float r = 0;
  for (int k = 0; k < n; ++k) {
    r += x[p];
    p = next[p];
  }
  y[gid()] = r;
}

// WAR: stores whose data and addresses are overwritten while they're on their way
__global__ void produce(IN a, float4_ *__restrict__ y, int n, int s) {
  int i = gid();
  float4_ v = {a[i], a[i + s], a[i + 2 * s], a[i + 3 * s]};
  for (int k = 0; k < n; ++k, i += s) {
    y[i] = v;
    v = v * v + 1.0f;
  }
}

// spill: more live values than registers
template <int N> __device__ inline void spill_body(const float4_ *x, float *y, int n) {
  float v[N];
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    float4_ q = x[gid() * (N / 4) + i / 4];
    v[i] = q.x, v[i + 1] = q.y, v[i + 2] = q.z, v[i + 3] = q.w;
  }
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = v[i] * v[(i + 7) % N] + 1.0f;
  }
  float s = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) s += v[i];
  y[gid()] = s;
}
__global__ void __attribute__((amdgpu_num_vgpr(32), amdgpu_waves_per_eu(8)))
spilled36(const float4_ *__restrict__ x, float *__restrict__ y, int n) { spill_body<36>(x, y, n); }
__global__ void __attribute__((amdgpu_num_vgpr(24), amdgpu_waves_per_eu(8)))
spilled28(const float4_ *__restrict__ x, float *__restrict__ y, int n) { spill_body<28>(x, y, n); }

// hand-off through LDS: store, barrier, load
__global__ void __launch_bounds__(256) handoff(IN a, IN b, float *__restrict__ y, int n, int s) {
  __shared__ float tile[256], more[256];
  int t = tid(), i = gid();
  float r = 0;
  for (int k = 0; k < n; ++k, i += s) {
    tile[t] = a[i];
    more[t] = b[i];
    barrier();
    r += tile[t ^ 1] * more[t ^ 3] + tile[t ^ 7];
    barrier();
  }
  y[gid()] = r;
}
__global__ void __launch_bounds__(256) scan(IN a, float *__restrict__ y, int n, int s) {
  __shared__ float tile[256];
  int t = tid(), i = gid();
  float r = 0;
  for (int k = 0; k < n; ++k, i += s) {
    tile[t] = a[i] + r;
    barrier();
    float u = tile[t ^ 1];
    barrier();
    tile[t] = u * u;
    barrier();
    r += tile[(t + 5) & 255];
    barrier();
  }
  y[gid()] = r;
}
// tables in LDS, read with an index that LDS gave
__global__ void __launch_bounds__(256) table(const int *__restrict__ at, float *__restrict__ y, int n) {
  __shared__ int first[256];
  __shared__ float second[256];
  first[tid()] = at[gid()];
  second[tid()] = (float)at[gid() + 1];
  barrier();
  float r = 0;
  int p = tid();
  for (int k = 0; k < n; ++k) {
    p = first[p & 255];
    r += second[(p + k) & 255];
  }
  y[gid()] = r;
}

// counter arithmetic: several loads in flight, waited for one by one
__global__ void count6(IN a, float *__restrict__ y, int n, int s, int w) {
  float r = 0;
  for (int k = 0, i = gid(); k < n; ++k, i += s) {
    float v0 = a[i], v1 = a[i + w], v2 = a[i + 2 * w], v3 = a[i + 3 * w], v4 = a[i + 4 * w], v5 = a[i + 5 * w];
    __builtin_amdgcn_sched_barrier(0);
    r = r * v0 + 1.0f;
    r = r * v1 + 2.0f;
    r = r * v2 + 3.0f;
    r = r * v3 + 4.0f;
    r = r * v4 + 5.0f;
    r = r * v5 + 6.0f;
  }
  y[gid()] = r;
}
// scalar and vector memory in one loop: two counters
__global__ void two_counters(const __attribute__((address_space(4))) float *t, IN a, IN b, float *__restrict__ y, int n, int s) {
  __shared__ float seen[64];
  float r = 0;
  seen[tid() & 63] = a[gid()];
  barrier();
  for (int k = 0, i = gid(); k < n; ++k, i += s) r = (r + a[i] * t[k * 3]) * seen[(tid() + k) & 63] + b[i];
  y[gid()] = r;
}
