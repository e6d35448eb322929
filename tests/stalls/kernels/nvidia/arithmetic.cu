// Arithmetic of every pipe, predicates and carries, warp exchange, loops, calls and indirect jumps.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

#ifndef FULL
#define FULL 1  // 0: the small set that is committed as a fixture
#endif

template <typename T, int U>
__global__ void special(const T* __restrict__ x, T* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32) {
#pragma unroll
    for (int u = 0; u < U; ++u) {
      T v = x[i * U + u];
      y[i * U + u] = sqrt(v) + rsqrt(v + T(1)) + exp(v) * log(v + T(2)) / (v * v + T(3)) + sin(v) + cos(v) + tanh(v);
    }
  }
}

template <int U>
__global__ void fast_special(const float* __restrict__ x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32) {
#pragma unroll
    for (int u = 0; u < U; ++u) {
      float v = x[i * U + u];
      y[i * U + u] = __sinf(v) + __cosf(v) * __expf(v) + __logf(v) + __frsqrt_rn(v) + __fdividef(v, v + 3.f) + rsqrtf(v);
    }
  }
}

template <typename A, typename B, int U>
__global__ void convert(const A* __restrict__ x, B* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32)
#pragma unroll
    for (int u = 0; u < U; ++u) y[i * U + u] = B(x[i * U + u]);
}

template <typename T, int U>
__global__ void divide(const T* __restrict__ x, T* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32)
#pragma unroll
    for (int u = 0; u < U; ++u) y[i * U + u] = x[i * U + u] / x[i * U + u + n] + x[i * U + u] * T(3);
}

__global__ void modulo(const unsigned long long* __restrict__ x, unsigned long long* y, const int* __restrict__ z, int n) {
  int i = threadIdx.x;
  y[i] = x[i] % x[i + n] + __umul64hi(x[i], x[i + 1]);
  y[i + n] = z[i] % z[i + n] + z[i + 3] / 7;
}

__global__ void bits(const unsigned* __restrict__ x, unsigned* y, const unsigned long long* __restrict__ w, int n) {
  int i = threadIdx.x;
  unsigned v = x[i], u = x[i + n];
  y[i] = __popc(v) + __clz(u) + __ffs(v ^ u) + __brev(v) + __byte_perm(v, u, 0x3021) + __funnelshift_l(v, u, v & 31);
  y[i + n] = __popcll(w[i]) + __clzll(w[i + n]) + (unsigned)(w[i] >> (u & 63)) + __dp4a(v, u, 7u) + __usad(v, u, 3u);
  y[i + 2 * n] = (v & u) | (~v & x[i + 5]) | (v < u ? 3 : max(v, 17u)) ^ min((int)v, (int)u);
}

#if FULL
// What the other kernels don't make the compiler use.
__global__ void selection(const float* __restrict__ x, float* y, const __half2* __restrict__ h, __half2* g, int* z, unsigned* w) {
  int i = threadIdx.x;
  y[i] = fmaxf(fminf(x[i], x[i + 32]), fabsf(x[i + 64])) + fmaxf(fmaxf(x[i + 1], x[i + 2]), x[i + 3]);
  g[i] = __hmul2(h[i], h[i + 32]);
  g[i + 64] = __hmax2(__hmin2(h[i + 1], h[i + 2]), __habs2(h[i + 3]));
  z[i] = max(max(z[i + 1], z[i + 2]), z[i + 3]) + (z[i + 4] << (z[i + 5] & 31)) + abs(z[i + 6]);
  unsigned v = w[i];
  asm volatile("bfe.s32 %0, %1, 3, 7;" : "=r"(z[i + 40]) : "r"(v));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(w[i + 1]) : "r"(v));
  asm volatile("szext.clamp.s32 %0, %1, %2;" : "=r"(z[i + 41]) : "r"(v), "r"(v + 3));
  asm volatile("bmsk.clamp.b32 %0, %1, %2;" : "=r"(w[i + 2]) : "r"(v), "r"(v + 5));
}
#endif

template <int U>
__global__ void carries(const unsigned long long* __restrict__ a, const unsigned long long* __restrict__ b, unsigned long long* c) {
  unsigned long long s[U], carry = 0;
#pragma unroll
  for (int u = 0; u < U; ++u) {
    unsigned long long x = a[u * 32 + threadIdx.x], y = b[u * 32 + threadIdx.x];
    s[u] = x * y + carry + __umul64hi(x, y + carry);
    carry = (s[u] < x) + (x > y);
  }
#pragma unroll
  for (int u = 0; u < U; ++u) c[u * 32 + threadIdx.x] = s[u] + carry;
}

template <typename T>
__global__ void exchange(const T* __restrict__ x, T* y, int n) {
  T v = x[threadIdx.x];
#pragma unroll
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  T w = __shfl_sync(~0u, v, threadIdx.x * 7 & 31) + __shfl_up_sync(~0u, v, 3) + __shfl_down_sync(~0u, v, n);
  unsigned ballot = __ballot_sync(~0u, v > T(3)), active = __activemask();
  if (__any_sync(~0u, w > T(5)) && !__all_sync(~0u, w > T(9))) v += T(__popc(ballot));
  y[threadIdx.x] = v + w + T(__match_any_sync(active, (int)threadIdx.x / 3));
}

__global__ void reduce_int(const int* __restrict__ x, int* y) {
#if __CUDA_ARCH__ >= 800
  y[threadIdx.x] = __reduce_add_sync(~0u, x[threadIdx.x]) + __reduce_max_sync(~0u, x[threadIdx.x + 32]);
#endif
}

// Block reduction with barrier, votes across the block, clocks.
__global__ void block_reduce(const float* __restrict__ x, float* y, long long* t, int n) {
  __shared__ float s[256];
  long long start = clock64();
  float v = 0;
  for (int i = threadIdx.x; i < n; i += 256) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = 128; d >= 32; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  int busy = __syncthreads_count(v > 3.f);
  if (__syncthreads_or(v > 7.f) && threadIdx.x == 0) atomicAdd(y, s[0] + busy);
  asm volatile("bar.sync 3, 128;");
  asm volatile("bar.arrive 2, 256;");
  t[threadIdx.x] = clock64() - start;
}

__device__ __noinline__ float called(float x, const float* __restrict__ t, int n) {
  float s = x;
  for (int i = 0; i < n; ++i) s = s * t[i] + __sinf(s);
  return s;
}
__device__ __noinline__ double called_too(double x, int depth, const double* __restrict__ t) {
  if (depth <= 0) return t[0] / x;
  return called_too(x * t[depth], depth - 1, t) + called_too(x + 1, depth - 2, t);
}
__device__ __noinline__ float left(float x, const float* t) { return x * t[3] + 1; }
__device__ __noinline__ float right(float x, const float* t) { return x / t[5]; }
using Step = float (*)(float, const float*);
__device__ Step steps[2] = {left, right};

__global__ void calls(const float* __restrict__ x, float* y, const double* __restrict__ d, int n) {
  float v = x[threadIdx.x];
  v += called(v, x, n) + called(v * 2, x + 3, n / 2);
  v += (float)called_too(v, n, d);
  for (int i = 0; i < n; ++i) v = steps[(i + threadIdx.x) & 1](v, x);
  y[threadIdx.x] = v;
}

template <int K>
__global__ void switched(const int* __restrict__ op, const float* __restrict__ x, float* y, int n) {
  float v = x[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    switch (op[i]) {
      case 0: v += x[i]; break;
      case 1: v = v * x[i + K] - 3; break;
      case 2: v = rsqrtf(v) + x[2 * i]; break;
      case 3: v = v > 0 ? v : -x[i]; break;
      case 4: v = fmaf(v, v, x[i + 9]); break;
      case 5: if (v < 2) v += __expf(v); break;
      case 6: v = x[(int)v & 63]; break;
      case 7: return;
      case 8: v = v - (float)i; break;
      case 9: y[i] = v; break;
      default: v = -v;
    }
  }
  y[threadIdx.x] = v;
}

__global__ void diverge(const int* __restrict__ x, int* y, int n) {
  int s = 0;
  for (int i = 0; i < x[threadIdx.x]; ++i) {
    if (x[i] > 3) { for (int j = 0; j < x[i + n]; ++j) { if (x[j] == s) break; s += x[j]; } }
    else if (x[i] < -3) continue;
    else s ^= x[i];
    __syncwarp();
  }
  y[threadIdx.x] = s;
}

__global__ void sparse(const int* __restrict__ start, const int* __restrict__ col, const double* __restrict__ a,
                       const double* __restrict__ x, double* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double s = 0;
  for (int k = start[row]; k < start[row + 1]; ++k) s += a[k] * x[col[k]];
  y[row] = s / (1 + fabs(s));
}

template <typename T, int U>
__global__ void chain(const T* __restrict__ x, T* y, int n) {
  T v = x[threadIdx.x], w = x[threadIdx.x + 32];
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int u = 0; u < U; ++u) v = v * w + x[i * U + u], w = w - v * T(3);
  y[threadIdx.x] = v > w ? v : w;
}

template __global__ void carries<4>(const unsigned long long*, const unsigned long long*, unsigned long long*);
template __global__ void fast_special<8>(const float*, float*, int);
template __global__ void switched<5>(const int*, const float*, float*, int);
template __global__ void exchange<int>(const int*, int*, int);
#if FULL
#define EACH2(A, B) template __global__ void convert<A, B, 8>(const A*, B*, int);
EACH2(float, double) EACH2(double, float) EACH2(int, float) EACH2(float, int) EACH2(long long, double)
EACH2(double, long long) EACH2(float, unsigned char) EACH2(unsigned short, double) EACH2(float, __half)
EACH2(__half, float) EACH2(float, __nv_bfloat16) EACH2(double, int) EACH2(signed char, float) EACH2(float, unsigned long long)
template __global__ void special<float, 1>(const float*, float*, int);
template __global__ void special<float, 4>(const float*, float*, int);
template __global__ void special<double, 2>(const double*, double*, int);
template __global__ void fast_special<32>(const float*, float*, int);
template __global__ void divide<float, 4>(const float*, float*, int);
template __global__ void divide<double, 4>(const double*, double*, int);
template __global__ void divide<int, 8>(const int*, int*, int);
template __global__ void carries<24>(const unsigned long long*, const unsigned long long*, unsigned long long*);
template __global__ void exchange<float>(const float*, float*, int);
template __global__ void exchange<double>(const double*, double*, int);
template __global__ void chain<float, 16>(const float*, float*, int);
template __global__ void chain<double, 32>(const double*, double*, int);
#endif
