// Short kernels for the timing simulator of tests/planted: one way to wait each, with several instructions to suspect.
#include <cuda_runtime.h>
#include <stdint.h>

// Streams that are consumed one after the other: each load has a reader of its own.
__global__ void streams(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, float* y, int n) {
  float sum = 0;
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += 128) {
    float u = a[i], v = b[i], w = c[i];
    sum = sum * 0.5f + u;
    sum = __fdividef(sum, v);
    sum = sum * w + rsqrtf(sum);
  }
  y[threadIdx.x] = sum;
}

// An index, what it points to, and a plain stream beside: a chain of two, and one that has nothing to do with it.
__global__ void indirect(const int* __restrict__ at, const float* __restrict__ x, const float* __restrict__ z, float* y, int n) {
  float sum = 0, other = 1;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    sum += x[at[i * 32 + threadIdx.x]];
    other *= z[i * 32 + threadIdx.x] + sum;
  }
  y[threadIdx.x] = sum + other;
}

// A list of nodes: the next pointer is waited for in the next iteration, the payload in this one.
struct Node { int next; float weight; float pad[2]; };
__global__ void list(const Node* nodes, float* y, int n) {
  int at = threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    float w = ((volatile const Node*)nodes)[at].weight;
    at = ((volatile const Node*)nodes)[at].next;
    sum = sum * 0.25f + w;
  }
  y[threadIdx.x] = sum;
}

// Two streams loaded one iteration ahead, a third in the same iteration.
__global__ void prefetch(const float* a, const float* b, const float* c, float* y, int n) {
  volatile const float *va = a, *vb = b, *vc = c;
  float u = va[threadIdx.x], v = vb[threadIdx.x], sum = 0;
#pragma unroll 1
  for (int i = 1; i < n; ++i) {
    float w = vc[i * 64 + threadIdx.x];
    sum += u * w;
    u = va[i * 64 + threadIdx.x];
    sum = sum * v + 1.f;
    v = vb[i * 64 + threadIdx.x];
  }
  y[threadIdx.x] = sum + u + v;
}

// More loads in flight than there are scoreboards.
template <int K>
__global__ void many(const float* x, float* y, int n) {
  volatile const float* v = x;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    float held[K];
#pragma unroll
    for (int k = 0; k < K; ++k) held[k] = v[(i * K + k) * 64 + threadIdx.x];
#pragma unroll
    for (int k = 0; k < K; ++k) sum = sum * 0.5f + held[k];
  }
  y[threadIdx.x] = sum;
}

// Global, shared and constant values in one expression.
__constant__ float coefficients[64];
__global__ void mixed(const float* x, float* y, int n) {
  __shared__ float s[256];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  volatile const float* v = x;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    float near = s[(threadIdx.x * 7 + i) & 255], far = v[i * 64 + threadIdx.x];
    sum = sum * coefficients[(i + threadIdx.x) & 63] + near;
    sum = __sinf(sum) + far;
  }
  y[threadIdx.x] = sum;
}

// Stores whose operands are overwritten at once, to global and to shared memory.
__global__ void overwrite(float4* y, const float* x, int n) {
  __shared__ float4 s[128];
  float4 v = make_float4(x[0], x[1], x[2], x[3]), w = make_float4(x[4], x[5], x[6], x[7]);
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    y[i * 128 + threadIdx.x] = v;
    v.x = v.x * 1.5f + 1.f, v.y = v.y * 2.5f - 1.f, v.z = v.z * 0.5f + 2.f, v.w = v.w * 3.f + 1.f;
    s[threadIdx.x] = w;
    w.x = w.x * 1.5f + v.x, w.y = w.y * 2.5f - v.y, w.z = w.z * 0.5f + v.z, w.w = w.w * 3.f + v.w;
  }
  y[threadIdx.x] = w;
  y[threadIdx.x + 128] = s[127 - threadIdx.x];
}
__global__ void overwrite_two(double2* y, double2* z, float4* q, int n) {
  float4 v = make_float4(n, 1.f, 2.f, 3.f);
  double2 a = make_double2(n, 1.0);
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    q[i * 128 + threadIdx.x] = v;
    y[i * 128 + threadIdx.x] = a;
    v.x = v.x * 1.5f + 1.f, v.y = v.y * 2.5f - 1.f, v.z = v.z * 0.5f + 2.f, v.w = v.w * 3.f + 1.f;
    z[i * 128 + threadIdx.x] = a;
    a.x = a.x * 2.0 + 1.0, a.y = a.y * 0.5 + 1.0;
  }
}

// Values that don't fit the registers: spilled before the loop, reloaded in it.
template <int K>
__global__ void __launch_bounds__(1024, 2) spills(const float* x, float* y, int n) {
  volatile const float* v = x;
  float held[K];
#pragma unroll
  for (int k = 0; k < K; ++k) held[k] = v[k * 64 + threadIdx.x];
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    sum += v[i];
#pragma unroll
    for (int k = 0; k < K; ++k) sum = sum * held[k] + held[(k * 5 + 2) % K];
  }
  y[threadIdx.x] = sum;
}

// A small array of the thread with an index known at run time: written, then read, in local memory.
__global__ void local_array(const int* at, const float* x, float* y, int n) {
  volatile float stack[16];
  volatile const float* v = x;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) stack[k * 3 & 15] = v[k * 32 + threadIdx.x];
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int slot = at[i] & 15;
    sum += stack[slot] * 0.5f;
    stack[slot ^ 1] = sum;
    sum += v[i * 32 + threadIdx.x];
  }
  y[threadIdx.x] = sum;
}

// A tile through shared memory; a tree of barriers; one warp that fetches for all.
__global__ void tile(const float* x, float* y, int n) {
  __shared__ float s[32][33];
  volatile const float* v = x;
#pragma unroll 1
  for (int t = 0; t < n; ++t) {
    s[threadIdx.y][threadIdx.x] = v[(t * 32 + threadIdx.y) * 32 + threadIdx.x];
    __syncthreads();
    y[(t * 32 + threadIdx.y) * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y] * 2.f;
    __syncthreads();
  }
}
__global__ void tree(const float* x, float* y) {
  __shared__ float s[256];
  s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int half = 128; half; half >>= 1) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  y[blockIdx.x] = s[0];
}
__global__ void fetch_for_all(const float* x, const float* z, float* y, int n) {
  __shared__ float s[64];
  volatile const float *v = x, *w = z;
  float sum = 0;
#pragma unroll 1
  for (int t = 0; t < n; ++t) {
    float own = w[t * 256 + threadIdx.x];
    if (threadIdx.x < 32) s[threadIdx.x] = v[t * 32 + threadIdx.x];
    __syncthreads();
    sum = sum * own + s[threadIdx.x & 31];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

__global__ void counters(int* cells, const int* x, int* y, int n) {
  volatile const int* v = x;
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    int old = atomicAdd(&cells[v[i * 64 + threadIdx.x] & 255], 1);
    sum = sum * 3 + v[i * 64 + threadIdx.x + 32];
    sum ^= old;
  }
  y[threadIdx.x] = sum;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ __forceinline__ void copy_async(float* to, const float* from) {
  uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from));
}
// Copies in stages, one group an iteration, `LEFT` groups left in flight; a plain load beside.
template <int STAGES, int COPIES>
__global__ void stages(const float* __restrict__ g, const float* h, float* y, int n) {
  __shared__ float s[STAGES][COPIES][64];
  volatile const float* v = h;
#pragma unroll
  for (int k = 0; k < STAGES - 1; ++k) {
#pragma unroll
    for (int c = 0; c < COPIES; ++c) copy_async(&s[k][c][threadIdx.x], &g[(k * COPIES + c) * 64 + threadIdx.x]);
    asm volatile("cp.async.commit_group;");
  }
  float sum = 0;
  int now = 0, next = STAGES - 1;
#pragma unroll 1
  for (int t = 0; t < n; ++t) {
#pragma unroll
    for (int c = 0; c < COPIES; ++c) {
      copy_async(&s[next][c][threadIdx.x], &g[((t + STAGES - 1) * COPIES + c) * 64 + threadIdx.x]);
      if (c) sum += v[(t * COPIES + c) * 64 + threadIdx.x];
    }
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1));
    __syncthreads();
#pragma unroll
    for (int c = 0; c < COPIES; ++c) sum += s[now][c][(threadIdx.x * 5 + 3) & 63];
    now = now + 1 == STAGES ? 0 : now + 1, next = next + 1 == STAGES ? 0 : next + 1;
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
template __global__ void stages<2, 1>(const float*, const float*, float*, int);
template __global__ void stages<3, 1>(const float*, const float*, float*, int);
template __global__ void stages<3, 2>(const float*, const float*, float*, int);
template __global__ void stages<4, 1>(const float*, const float*, float*, int);
template __global__ void stages<5, 2>(const float*, const float*, float*, int);
#endif

template __global__ void many<8>(const float*, float*, int);
template __global__ void many<12>(const float*, float*, int);
template __global__ void spills<34>(const float*, float*, int);
template __global__ void spills<40>(const float*, float*, int);
