// Asynchronous copies in stages, matrix loads, tensor cores (sm_75: wmma and ldmatrix; sm_80 up: cp.async, mma).
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

#ifndef FULL
#define FULL 1  // 0: the small set that is committed as a fixture
#endif

__device__ __forceinline__ uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void ldmatrix4(uint32_t* r, uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}
__device__ __forceinline__ void ldmatrix2_trans(uint32_t* r, uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
}

template <typename T>
__global__ void wmma_product(const T* a, const T* b, float* c, int n) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, T, row_major> x;
  fragment<matrix_b, 16, 16, 16, T, col_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  fill_fragment(z, 0.f);
  for (int k = 0; k < n; k += 16) {
    load_matrix_sync(x, a + k, n);
    load_matrix_sync(y, b + k, n);
    mma_sync(z, x, y, z);
  }
  store_matrix_sync(c, z, n, mem_row_major);
}
#if FULL
template __global__ void wmma_product<__half>(const __half*, const __half*, float*, int);
#endif

__global__ void matrix_from_shared(const uint4* __restrict__ g, float* y, int n) {
  __shared__ uint4 s[256];
  float d[4] = {};
  for (int t = 0; t < n; ++t) {
    s[threadIdx.x] = g[t * 256 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      uint32_t a[4], b[2];
      ldmatrix4(a, shared_address(&s[threadIdx.x % 32 + k * 16]));
      ldmatrix2_trans(b, shared_address(&s[threadIdx.x % 16 + k * 8]));
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    }
    __syncthreads();
  }
  y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <int BYTES>
__device__ __forceinline__ void copy_async(void* to, const void* from) {
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(BYTES));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int N>
__device__ __forceinline__ void wait_groups() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }

template <int STAGES, int BYTES>
__global__ void staged(const float* __restrict__ g, float* y, int n) {
  constexpr int EACH = BYTES / 4;
  __shared__ __align__(16) float s[STAGES][128 * EACH];
  int at = threadIdx.x * EACH;
#pragma unroll
  for (int k = 0; k < STAGES - 1; ++k) { copy_async<BYTES>(&s[k][at], &g[k * 128 * EACH + at]); commit(); }
  float sum = 0;
  for (int t = 0; t < n; ++t) {
    int next = t + STAGES - 1;
    if (next < n) copy_async<BYTES>(&s[next % STAGES][at], &g[next * 128 * EACH + at]);
    commit();
    wait_groups<STAGES - 2>();
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; ++e) sum += s[t % STAGES][(at + e * 5) % (128 * EACH)];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
#if FULL
template __global__ void staged<2, 4>(const float*, float*, int);
template __global__ void staged<2, 16>(const float*, float*, int);
template __global__ void staged<3, 8>(const float*, float*, int);
#endif
template __global__ void staged<3, 16>(const float*, float*, int);
#if FULL
template __global__ void staged<4, 4>(const float*, float*, int);
template __global__ void staged<4, 16>(const float*, float*, int);
template __global__ void staged<5, 16>(const float*, float*, int);
template __global__ void staged<6, 8>(const float*, float*, int);
template __global__ void staged<8, 16>(const float*, float*, int);
#endif

// The kernel of a real half-precision product: cp.async in stages, ldmatrix, mma.
template <int STAGES, int KSTEPS>
__global__ void product(const uint4* __restrict__ a, const uint4* __restrict__ b, float* c, int n) {
  __shared__ uint4 sa[STAGES][256], sb[STAGES][256];
  float d[4][4] = {};
#pragma unroll
  for (int k = 0; k < STAGES - 1; ++k) {
    copy_async<16>(&sa[k][threadIdx.x], &a[k * 256 + threadIdx.x]);
    copy_async<16>(&sb[k][threadIdx.x], &b[k * 256 + threadIdx.x]);
    commit();
  }
  for (int t = 0; t < n; ++t) {
    wait_groups<STAGES - 2>();
    __syncthreads();
    int now = t % STAGES, next = t + STAGES - 1;
#pragma unroll
    for (int k = 0; k < KSTEPS; ++k) {
      uint32_t x[4], y[4][2];
      ldmatrix4(x, shared_address(&sa[now][threadIdx.x % 32 + k * 32]));
#pragma unroll
      for (int j = 0; j < 4; ++j) ldmatrix2_trans(y[j], shared_address(&sb[now][threadIdx.x % 16 + j * 16 + k * 64]));
#pragma unroll
      for (int j = 0; j < 4; ++j)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j][0]), "r"(y[j][1]));
    }
    if (next < n) {
      copy_async<16>(&sa[next % STAGES][threadIdx.x], &a[next * 256 + threadIdx.x]);
      copy_async<16>(&sb[next % STAGES][threadIdx.x], &b[next * 256 + threadIdx.x]);
    }
    commit();
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) c[(j * 4 + e) * 256 + threadIdx.x] = d[j][e];
}
#if FULL
template __global__ void product<2, 4>(const uint4*, const uint4*, float*, int);
#endif
template __global__ void product<3, 4>(const uint4*, const uint4*, float*, int);
#if FULL
template __global__ void product<4, 4>(const uint4*, const uint4*, float*, int);
#endif

#if FULL
#define MMA(NAME, TEXT, TC, NC, TA, NA, NB, KA)                                                       \
  __global__ void NAME(const TA* __restrict__ a, TC* c, int n) {                                      \
    TC d[NC] = {};                                                                                    \
    for (int t = 0; t < n; ++t) {                                                                     \
      _Pragma("unroll") for (int u = 0; u < 4; ++u) {                                                 \
        TA x[NA], y[NB];                                                                              \
        _Pragma("unroll") for (int i = 0; i < NA; ++i) x[i] = a[(t * 4 + u) * 999 + i * 32 + threadIdx.x]; \
        _Pragma("unroll") for (int i = 0; i < NB; ++i) y[i] = a[(t * 4 + u) * 777 + i * 32 + threadIdx.x]; \
        TEXT                                                                                          \
      }                                                                                               \
    }                                                                                                 \
    _Pragma("unroll") for (int i = 0; i < NC; ++i) c[i * 32 + threadIdx.x] = d[i];                    \
  }
MMA(mma_bf16, asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));, float, 4, uint32_t, 4, 2, 0)
MMA(mma_tf32, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));, float, 4, uint32_t, 4, 2, 0)
MMA(mma_half, asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%4,%5},{%6,%7},{%0,%1};"
  : "+r"(d[0]), "+r"(d[1]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));, uint32_t, 2, uint32_t, 4, 2, 0)
MMA(mma_int8, asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
  : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));, int, 4, uint32_t, 4, 2, 0)
MMA(mma_int8_small, asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1},{%2},{%3},{%0,%1};"
  : "+r"(d[0]), "+r"(d[1]) : "r"(x[0]), "r"(y[0]));, int, 2, uint32_t, 1, 1, 0)
MMA(mma_double, asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
  : "+d"(d[0]), "+d"(d[1]) : "d"(x[0]), "d"(y[0]));, double, 2, double, 1, 1, 0)
MMA(mma_bit, asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
  : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));, int, 4, uint32_t, 4, 2, 0)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
MMA(mma_e4m3, asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));, float, 4, uint32_t, 4, 2, 0)
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__global__ void matrix_to_shared(const uint32_t* __restrict__ x, uint32_t* y) {
  __shared__ uint32_t s[512];
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(shared_address(&s[threadIdx.x * 4])),
               "r"(x[threadIdx.x]), "r"(x[threadIdx.x + 32]), "r"(x[threadIdx.x + 64]), "r"(x[threadIdx.x + 96]));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(shared_address(&s[threadIdx.x * 2 + 256])),
               "r"(x[threadIdx.x + 128]), "r"(x[threadIdx.x + 160]));
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x ^ 7];
}
#endif
MMA(mma_sparse, asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9,%10,%11},{%0,%1,%2,%3},%12,0x0;"
  : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(x[0]));, float, 4, uint32_t, 4, 4, 0)
#endif
#endif
