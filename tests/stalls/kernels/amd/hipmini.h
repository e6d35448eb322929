// Just enough of HIP for our test kernels: clang-19 compiles them for amdgcn with no ROCm on the machine.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __noinline__ __attribute__((noinline))
#define NULL nullptr

typedef unsigned int uint;
typedef unsigned long size_t;
typedef float float2_ __attribute__((ext_vector_type(2)));
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef float float16_ __attribute__((ext_vector_type(16)));
typedef _Float16 half2_ __attribute__((ext_vector_type(2)));
typedef _Float16 half4_ __attribute__((ext_vector_type(4)));
typedef _Float16 half8_ __attribute__((ext_vector_type(8)));
typedef _Float16 half16_ __attribute__((ext_vector_type(16)));
typedef float float8_ __attribute__((ext_vector_type(8)));
typedef double double4_ __attribute__((ext_vector_type(4)));

__device__ inline int tid() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int bid() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline int bdim() { return __builtin_amdgcn_workgroup_size_x(); }
__device__ inline int gid() { return bid() * bdim() + tid(); }
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
