// What orders memory, and matrix instructions: waits for stores, copies to LDS that pass no register, chains of MFMA.
#include "hipmini.h"

// each store is released on its own: waits for stores, and for loads that are acquired
template <int U> __device__ inline void release_body(const float *x, float *y, int *flags, int n) {
#pragma unroll
  for (int k = 0; k < U; ++k) {
    y[gid() + k * n] = x[gid() + k] * 2.0f;
    __hip_atomic_store(flags + k, k, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
#pragma unroll
  for (int k = 0; k < U; ++k) {
    int seen = __hip_atomic_load(flags + U + k, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
    y[gid() + (U + k) * n] = x[gid() + seen];
  }
}
__global__ void release_4(const float *x, float *y, int *f, int n) { release_body<4>(x, y, f, n); }
__global__ void release_12(const float *x, float *y, int *f, int n) { release_body<12>(x, y, f, n); }
__global__ void release_40(const float *x, float *y, int *f, int n) { release_body<40>(x, y, f, n); }

#if defined(WITH_COPIES)  // clang 19.1.7 crashes on these (its hazard recognizer); LLVM 22 compiles their IR
// stages of copies from global memory to LDS: pending on vmcnt, no register is written
template <int S> __device__ inline void stages_body(const float *x, float *y, int n) {
  __shared__ float tile[S * 64];
  typedef const __attribute__((address_space(1))) void *from;
  typedef __attribute__((address_space(3))) void *to;
#pragma unroll
  for (int s = 0; s < S; ++s)
    __builtin_amdgcn_global_load_lds((from)(x + s * 64 + tid()), (to)(tile + s * 64), 4, 0, 0);
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    __builtin_amdgcn_s_waitcnt(0xf70 | (S - 1));  // vmcnt(S - 1): the oldest stage has arrived
    __builtin_amdgcn_s_barrier();
    sum += tile[(i % S) * 64 + (tid() ^ 1)];
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_global_load_lds((from)(x + (i + S) * 64 + tid()), (to)(tile + (i % S) * 64), 4, 0, 0);
  }
  y[gid()] = sum;
}
__global__ void __launch_bounds__(64) stages_2(const float *x, float *y, int n) { stages_body<2>(x, y, n); }
__global__ void __launch_bounds__(64) stages_4(const float *x, float *y, int n) { stages_body<4>(x, y, n); }
__global__ void __launch_bounds__(64) stages_8(const float *x, float *y, int n) { stages_body<8>(x, y, n); }
#endif

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
template <int U> __device__ inline void chain_body(const half4_ *a, const half4_ *b, float *c, int n) {
  float16_ acc = 0;
  float4_ small[U] = {};
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int k = 0; k < U; ++k) {
      half4_ x = a[(i * U + k) * 64 + tid()], y = b[(i * U + k) * 64 + tid()];
      acc = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, acc, 0, 0, 0);
      small[k] = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, small[(k + 1) % U], 0, 0, 0);
    }
  }
  for (int i = 0; i < 16; ++i) c[i * 64 + tid()] = acc[i] * small[i % U][i & 3];
}
__global__ void __launch_bounds__(64) chain_2(const half4_ *a, const half4_ *b, float *c, int n) { chain_body<2>(a, b, c, n); }
__global__ void __launch_bounds__(64) chain_6(const half4_ *a, const half4_ *b, float *c, int n) { chain_body<6>(a, b, c, n); }
#endif
