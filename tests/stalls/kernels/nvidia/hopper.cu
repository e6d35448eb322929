// Hopper: warpgroup products in groups, bulk and tensor copies on mbarriers, named barriers, clusters.
#include <cuda_fp16.h>
#include <stdint.h>

#ifndef FULL
#define FULL 1  // 0: the small set that is committed as a fixture
#endif

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
struct __align__(64) Maps { int4 at[16]; };  // two tensor maps of 128 bytes, as the driver encodes them
__device__ __forceinline__ uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void barrier_init(uint64_t* b, int n) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(n));
}
__device__ __forceinline__ void barrier_expect(uint64_t* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes));
}
__device__ __forceinline__ void barrier_arrive(uint64_t* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)));
}
__device__ __forceinline__ void barrier_wait(uint64_t* b, int phase) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone:\n}\n" ::"r"(
          shared_address(b)), "r"(phase));
}
__device__ __forceinline__ uint64_t descriptor(const void* p) {
  uint64_t at = shared_address(p);
  return ((at & 0x3FFFF) >> 4) | (uint64_t(1) << 16) | (uint64_t(64) << 32) | (uint64_t(1) << 62);
}
__device__ __forceinline__ void group_arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void group_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

__device__ __forceinline__ void wgmma16(float* d, uint64_t a, uint64_t b) {
  asm volatile("{wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, 1, 1, 1, 0, 0;}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "l"(a), "l"(b));
}
__device__ __forceinline__ void wgmma16_registers(float* d, uint32_t* a, uint64_t b) {
  asm volatile("{wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, %12, 1, 1, 1, 0;}"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void wgmma_int(int* d, uint64_t a, uint64_t b) {
  asm volatile("{wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, 1;}"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
               : "l"(a), "l"(b));
}

// Products fed by tensor copies: a ring of mbarriers, groups in flight.
template <int STAGES, int LEAVE>
__global__ void __launch_bounds__(128) tensor_pipeline(const __grid_constant__ Maps maps, float* c, int n) {
  __shared__ __align__(128) __half a[STAGES][64 * 64], b[STAGES][64 * 16];
  __shared__ uint64_t full[STAGES];
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; ++s) barrier_init(&full[s], 1);
  asm volatile("fence.mbarrier_init.release.cluster;");
  __syncthreads();
  float d[2][8] = {};
  auto load = [&](int t) {
    int s = t % STAGES;
    if (threadIdx.x == 0) {
      barrier_expect(&full[s], 64 * 64 * 2 + 64 * 16 * 2);
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                   ::"r"(shared_address(a[s])), "l"(&maps.at[0]), "r"(t * 64), "r"(blockIdx.x), "r"(shared_address(&full[s])) : "memory");
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                   ::"r"(shared_address(b[s])), "l"(&maps.at[8]), "r"(t * 64), "r"(blockIdx.y), "r"(shared_address(&full[s])) : "memory");
    }
  };
  for (int t = 0; t < STAGES - 1; ++t) load(t);
  for (int t = 0; t < n; ++t) {
    int s = t % STAGES;
    barrier_wait(&full[s], t / STAGES & 1);
    group_arrive();
#pragma unroll
    for (int k = 0; k < 4; ++k) wgmma16(d[k % 2], descriptor(&a[s][k * 16]), descriptor(&b[s][k * 16]));
    group_commit();
    group_wait<LEAVE>();
    if (t + STAGES - 1 < n) load(t + STAGES - 1);
  }
  group_wait<0>();
#pragma unroll
  for (int i = 0; i < 8; ++i) c[i * 128 + threadIdx.x] = d[0][i] + d[1][i];
}
#if FULL
template __global__ void tensor_pipeline<2, 0>(const __grid_constant__ Maps, float*, int);
#endif
template __global__ void tensor_pipeline<3, 1>(const __grid_constant__ Maps, float*, int);
#if FULL
template __global__ void tensor_pipeline<4, 1>(const __grid_constant__ Maps, float*, int);
template __global__ void tensor_pipeline<2, 1>(const __grid_constant__ Maps, float*, int);
template __global__ void tensor_pipeline<3, 0>(const __grid_constant__ Maps, float*, int);
template __global__ void tensor_pipeline<5, 3>(const __grid_constant__ Maps, float*, int);
template __global__ void tensor_pipeline<6, 2>(const __grid_constant__ Maps, float*, int);
template __global__ void tensor_pipeline<8, 4>(const __grid_constant__ Maps, float*, int);
template __global__ void tensor_pipeline<4, 2>(const __grid_constant__ Maps, float*, int);
#endif

// Several groups in flight, waited for with different depths; one operand from registers.
template <int GROUPS>
__global__ void __launch_bounds__(128) groups(const uint32_t* __restrict__ x, float* c, int n) {
  __shared__ __align__(128) __half b[64 * 16];
  b[threadIdx.x] = __half(x[threadIdx.x]);
  __syncthreads();
  float d[GROUPS][8] = {};
  for (int t = 0; t < n; ++t) {
    uint32_t a[4];
    for (int i = 0; i < 4; ++i) a[i] = x[t * 512 + i * 128 + threadIdx.x];
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
      group_arrive();
      wgmma16_registers(d[g], a, descriptor(&b[g * 16]));
      group_commit();
    }
    group_wait<0>();
  }
#pragma unroll
  for (int g = 0; g < GROUPS; ++g)
#pragma unroll
    for (int i = 0; i < 8; ++i) c[(g * 8 + i) * 128 + threadIdx.x] = d[g][i];
}
// Groups committed one by one and waited for one by one, the oldest first.
template <int GROUPS, int LEFT>
__device__ __forceinline__ void drain(float (*d)[8], float* c) {
  if constexpr (LEFT >= 0) {
    group_wait<LEFT>();
#pragma unroll
    for (int i = 0; i < 8; ++i) c[((GROUPS - 1 - LEFT) * 8 + i) * 128 + threadIdx.x] = d[GROUPS - 1 - LEFT][i];
    drain<GROUPS, LEFT - 1>(d, c);
  }
}
template <int GROUPS>
__global__ void __launch_bounds__(128) drained(float* c, int n) {
  __shared__ __align__(128) __half a[64 * 16], b[GROUPS][64 * 16];
  a[threadIdx.x] = __half(n), b[0][threadIdx.x] = __half(n + 1);
  __syncthreads();
  float d[GROUPS][8] = {};
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    group_arrive();
    wgmma16(d[g], descriptor(a), descriptor(b[g]));
    wgmma16(d[g], descriptor(a + 128), descriptor(b[g] + 128));
    group_commit();
  }
  drain<GROUPS, GROUPS - 1>(d, c);
}
template __global__ void drained<3>(float*, int);
#if FULL
template __global__ void drained<7>(float*, int);
template __global__ void drained<8>(float*, int);
template __global__ void groups<1>(const uint32_t*, float*, int);
template __global__ void groups<3>(const uint32_t*, float*, int);
template __global__ void groups<6>(const uint32_t*, float*, int);
#endif

__global__ void __launch_bounds__(128) integer_groups(int* c, int n) {
  __shared__ __align__(128) char a[64 * 32], b[16 * 32];
  a[threadIdx.x] = n, b[threadIdx.x] = n + 1;
  __syncthreads();
  int d[8] = {}, e[8] = {};
  for (int t = 0; t < n; ++t) {
    group_arrive();
    wgmma_int(d, descriptor(a), descriptor(b));
    group_commit();
    wgmma_int(e, descriptor(a + 64), descriptor(b + 32));
    group_commit();
    group_wait<1>();
    c[t * 128 + threadIdx.x] = d[0] + d[3];
    group_wait<0>();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) c[i * 128 + threadIdx.x] = d[i] + e[i];
}

// Producer warp and consumer warps, full and empty barriers, plain bulk copies both ways, registers handed over.
template <int STAGES>
__global__ void __launch_bounds__(256, 1) specialised(const float* __restrict__ x, float* y, int n) {
  __shared__ __align__(128) float ring[STAGES][128];
  __shared__ __align__(128) float out[128];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; ++s) barrier_init(&full[s], 1), barrier_init(&empty[s], 128);
  __syncthreads();
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == 128)
      for (int t = 0; t < n; ++t) {
        int s = t % STAGES;
        barrier_wait(&empty[s], ~(t / STAGES) & 1);
        barrier_expect(&full[s], 512);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(ring[s])), "l"(x + t * 128), "r"(512), "r"(shared_address(&full[s])) : "memory");
      }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    float sum = 0;
    for (int t = 0; t < n; ++t) {
      int s = t % STAGES;
      barrier_wait(&full[s], t / STAGES & 1);
      sum += ring[s][threadIdx.x ^ 1];
      barrier_arrive(&empty[s]);
    }
    out[threadIdx.x] = sum;
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("bar.sync 1, 128;");
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y), "r"(shared_address(out)), "r"(512) : "memory");
      asm volatile("cp.async.bulk.commit_group;");
      asm volatile("cp.async.bulk.wait_group.read 0;");
    }
  }
}
template __global__ void specialised<2>(const float*, float*, int);
#if FULL
template __global__ void specialised<3>(const float*, float*, int);
template __global__ void specialised<6>(const float*, float*, int);
template __global__ void specialised<8>(const float*, float*, int);
template __global__ void specialised<4>(const float*, float*, int);
#endif

template <int TIMES, int LEAVE>
__global__ void tensor_store(const __grid_constant__ Maps maps, const float* __restrict__ x) {
  __shared__ __align__(128) float s[TIMES][128];
#pragma unroll
  for (int k = 0; k < TIMES; ++k) {
    s[k][threadIdx.x] = x[k * 128 + threadIdx.x] * 2;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&maps.at[0]), "r"(k * 32), "r"(blockIdx.x),
                   "r"(shared_address(s[k])) : "memory");
      asm volatile("cp.async.bulk.commit_group;");
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEAVE));
    }
  }
}
template __global__ void tensor_store<4, 0>(const __grid_constant__ Maps, const float*);
#if FULL
template __global__ void tensor_store<16, 1>(const __grid_constant__ Maps, const float*);
template __global__ void tensor_store<24, 2>(const __grid_constant__ Maps, const float*);
template __global__ void tensor_store<12, 3>(const __grid_constant__ Maps, const float*);
#endif

// Copies of single threads that arrive on an mbarrier by themselves.
template <int STAGES>
__global__ void copies_on_mbarrier(const float* __restrict__ x, float* y, int n) {
  __shared__ float ring[STAGES][128];
  __shared__ uint64_t full[STAGES];
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; ++s) barrier_init(&full[s], 128);
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int t = 0; t < STAGES; ++t) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&ring[t][threadIdx.x])), "l"(x + t * 128 + threadIdx.x));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&full[t])));
  }
#pragma unroll
  for (int t = 0; t < STAGES; ++t) {
    barrier_wait(&full[t], 0);
    sum += ring[t][threadIdx.x ^ 3];
  }
  y[threadIdx.x] = sum;
}
#if FULL
template __global__ void copies_on_mbarrier<4>(const float*, float*, int);
template __global__ void copies_on_mbarrier<24>(const float*, float*, int);
#endif

__global__ void __cluster_dims__(2, 1, 1) cluster(const float* __restrict__ x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;");
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"(shared_address(&s[127 - threadIdx.x])));
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there));
  y[threadIdx.x] = v;
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;");
}
#endif
