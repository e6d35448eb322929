// Many variants of common shapes, so that the compiler's waits are checked on some ten thousand dependences a target.
#include "hipmini.h"

#define EACH_TYPE(M) M(float) M(double) M(int) M(half_) M(long)
typedef _Float16 half_;

template <typename T, int R> __device__ inline void stencil_body(const T *in, T *out, int n, int pitch) {
  int i = gid() + R * pitch;
  if (i >= n) return;
  T sum = in[i];
#pragma unroll
  for (int k = 1; k <= R; ++k) sum += (in[i + k] + in[i - k]) * (T)k + (in[i + k * pitch] - in[i - k * pitch]);
  out[i] = sum;
}
template <typename T, int U> __device__ inline void dot_body(const T *a, const T *b, T *out, int n) {
  T sum[U] = {};
  for (int i = gid(); i + U * 256 < n; i += U * 256)
#pragma unroll
    for (int k = 0; k < U; ++k) sum[k] += a[i + k * 256] * b[i + k * 256];
  T total = 0;
#pragma unroll
  for (int k = 0; k < U; ++k) total += sum[k];
  out[gid()] = total;
}
template <typename T, int U> __device__ inline void prefetch_body(const T *a, T *out, int n) {
  T held[U];
#pragma unroll
  for (int k = 0; k < U; ++k) held[k] = a[gid() + k * 512];
  T sum = 0;
  for (int i = 0; i < n; ++i) {
    T now = held[0];
#pragma unroll
    for (int k = 0; k + 1 < U; ++k) held[k] = held[k + 1];
    held[U - 1] = a[gid() + (i + U) * 512];
    sum = sum * (T)3 + now;
  }
  out[gid()] = sum;
}
template <typename T, int S> __device__ inline void tile_body(const T *a, const T *b, T *c, int n) {
  __shared__ T ta[S * 16], tb[S * 16];
  int x = tid() & 15, y = tid() >> 4;
  T acc[S] = {};
  for (int k = 0; k < n; k += 16) {
#pragma unroll
    for (int s = 0; s < S; ++s)
      if (y == s) {
        ta[s * 16 + x] = a[s * n + k + x];
        tb[s * 16 + x] = b[(k + s) * n + x];
      }
    barrier();
#pragma unroll
    for (int j = 0; j < 16; ++j)
#pragma unroll
      for (int s = 0; s < S; ++s) acc[s] += ta[s * 16 + j] * tb[(j % S) * 16 + x];
    barrier();
  }
#pragma unroll
  for (int s = 0; s < S; ++s) c[(gid() + s * 4096)] = acc[s];
}
template <typename T, int D> __device__ inline void gather_body(const int *index, const T *x, T *y, int n) {
  int p = gid();
#pragma unroll
  for (int d = 0; d < D; ++d) p = index[p];
  T sum = 0;
  for (int i = 0; i < n; ++i) {
    int at = index[p + i];
    if (at < 0) break;
    sum += x[at] * x[index[at]];
  }
  y[gid()] = sum;
}
template <typename T, int N> __device__ inline void private_body(const T *x, T *y, const int *order, int n) {
  T local[N];
#pragma unroll
  for (int i = 0; i < N; ++i) local[i] = x[gid() + i * n];
  for (int i = 0; i < n; ++i) {
    T t = local[order[i] & (N - 1)];
    local[(order[i] + i) & (N - 1)] = t * t + x[i];
  }
  T sum = 0;
  for (int i = 0; i < N; ++i) sum += local[i];
  y[gid()] = sum;
}
template <typename T, int U> __device__ inline void scatter_body(const int *where, T *y, T *old, int n) {
#pragma unroll
  for (int k = 0; k < U; ++k) {
    int at = where[gid() + k * n];
    T before = y[at];
    y[at + 1] = before + (T)k;
    old[gid() + k * n] = before;
  }
}
template <int U> __device__ inline void atomic_body(const int *where, int *bins, int *old, int n) {
  __shared__ int seen[128];
#pragma unroll
  for (int k = 0; k < U; ++k) {
    int at = where[gid() + k * n];
    int rank = __hip_atomic_fetch_add(&seen[at & 127], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_max(&seen[(at + k) & 127], rank, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_or(&bins[rank], at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    old[gid() + k * n] = __hip_atomic_fetch_xor(&bins[at], rank, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}
template <typename T, int U> __device__ inline void flat_body(T **pointers, T *y, int n) {
  T sum = 0;
#pragma unroll
  for (int k = 0; k < U; ++k) {
    T *p = pointers[(gid() + k) & 255];
    sum += p[k] * p[n];
    p[k + 1] = sum;
  }
  y[gid()] = sum;
}
template <typename T, int U> __device__ inline void divide_body(const T *x, T *y, int n) {
#pragma unroll
  for (int k = 0; k < U; ++k) {
    T a = x[gid() + k * n], b = x[gid() + k * n + 7];
    y[gid() + k * n] = a / (b + (T)1);
  }
}
template <typename T, int U> __device__ __noinline__ T helper(const T *x, T y, int n) {
  T sum = y;
#pragma unroll
  for (int k = 0; k < U; ++k) sum = sum * x[k * n] + (T)k;
  return sum;
}
template <typename T, int U> __device__ inline void call_body(const T *x, T *y, int n) {
  T first = helper<T, U>(x + gid(), y[gid()], n);
  T second = helper<T, U>(x + gid() + n, y[gid() + n], n + 1);
  y[gid()] = first * second + x[gid() + n];
}
template <typename T, int U> __device__ inline void uniform_body(const __attribute__((address_space(4))) T *t, T *y, int n) {
  T sum = y[gid()];
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int k = 0; k < U; ++k) sum = sum * t[i * U + k] + t[k];
  }
  y[gid()] = sum;
}
template <typename T, int U> __device__ inline void shuffle_body(const int *x, int *y, int n) {
  int v = x[gid()];
#pragma unroll
  for (int k = 0; k < U; ++k) {
    int other = __builtin_amdgcn_ds_bpermute((tid() ^ (1 << (k & 5))) << 2, v);
    v += other * x[gid() + k * n];
    v += __builtin_amdgcn_readlane(v, k) + __builtin_amdgcn_mov_dpp(v, 0x111, 0xf, 0xf, true);
  }
  y[gid()] = v;
}

#define NAME2(a, b, c) a##_##b##_##c
#define NAME(a, b, c) NAME2(a, b, c)
#define K_STENCIL(T, N) __global__ void NAME(stencil, T, N)(const T *a, T *b, int n, int p) { stencil_body<T, N>(a, b, n, p); }
#define K_DOT(T, N) __global__ void NAME(dot, T, N)(const T *a, const T *b, T *c, int n) { dot_body<T, N>(a, b, c, n); }
#define K_PREFETCH(T, N) __global__ void NAME(prefetch, T, N)(const T *a, T *b, int n) { prefetch_body<T, N>(a, b, n); }
#define K_TILE(T, N) __global__ void __launch_bounds__(256) NAME(tile, T, N)(const T *a, const T *b, T *c, int n) { tile_body<T, N>(a, b, c, n); }
#define K_GATHER(T, N) __global__ void NAME(gather, T, N)(const int *i, const T *x, T *y, int n) { gather_body<T, N>(i, x, y, n); }
#define K_PRIVATE(T, N) __global__ void NAME(private, T, N)(const T *x, T *y, const int *o, int n) { private_body<T, N>(x, y, o, n); }
#define K_SCATTER(T, N) __global__ void NAME(scatter, T, N)(const int *w, T *y, T *o, int n) { scatter_body<T, N>(w, y, o, n); }
#define K_ATOMIC(N) __global__ void NAME(atomic, int, N)(const int *w, int *b, int *o, int n) { atomic_body<N>(w, b, o, n); }
#define K_FLAT(T, N) __global__ void NAME(flat, T, N)(T **p, T *y, int n) { flat_body<T, N>(p, y, n); }
#define K_DIVIDE(T, N) __global__ void NAME(divide, T, N)(const T *x, T *y, int n) { divide_body<T, N>(x, y, n); }
#define K_CALL(T, N) __global__ void NAME(call, T, N)(const T *x, T *y, int n) { call_body<T, N>(x, y, n); }
#define K_UNIFORM(T, N) __global__ void NAME(uniform, T, N)(const __attribute__((address_space(4))) T *t, T *y, int n) { uniform_body<T, N>(t, y, n); }
#define K_SHUFFLE(N) __global__ void NAME(shuffle, int, N)(const int *x, int *y, int n) { shuffle_body<int, N>(x, y, n); }

#define OF_TYPE(T)                                                                                                  \
  K_STENCIL(T, 1) K_STENCIL(T, 2) K_STENCIL(T, 3) K_STENCIL(T, 5) K_STENCIL(T, 8)                                   \
  K_DOT(T, 1) K_DOT(T, 2) K_DOT(T, 4) K_DOT(T, 8)                                                                   \
  K_PREFETCH(T, 1) K_PREFETCH(T, 2) K_PREFETCH(T, 3) K_PREFETCH(T, 5)                                               \
  K_TILE(T, 2) K_TILE(T, 4) K_TILE(T, 8)                                                                            \
  K_GATHER(T, 1) K_GATHER(T, 3) K_GATHER(T, 6)                                                                      \
  K_PRIVATE(T, 8) K_PRIVATE(T, 32)                                                                                  \
  K_SCATTER(T, 1) K_SCATTER(T, 4) K_SCATTER(T, 12)                                                                  \
  K_FLAT(T, 1) K_FLAT(T, 4) K_FLAT(T, 10)                                                                           \
  K_DIVIDE(T, 1) K_DIVIDE(T, 4)                                                                                     \
  K_CALL(T, 2) K_CALL(T, 6)                                                                                         \
  K_UNIFORM(T, 2) K_UNIFORM(T, 9)
EACH_TYPE(OF_TYPE)
K_ATOMIC(1) K_ATOMIC(3) K_ATOMIC(8) K_ATOMIC(16)
K_SHUFFLE(2) K_SHUFFLE(6) K_SHUFFLE(16)
