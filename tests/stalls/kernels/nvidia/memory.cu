// Memory in all its forms: widths, address chains, shared hand-offs, spills, atomics, constants, textures.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#ifndef FULL
#define FULL 1  // 0: the small set that is committed as a fixture
#endif

// k independent loads that the compiler puts on few scoreboards, one reader.
template <int K, typename T>
__global__ void gather_sum(const T* __restrict__ x, const int* __restrict__ at, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T sum = T(0);
#pragma unroll
  for (int k = 0; k < K; ++k) sum += x[at[i * K + k]];
  y[i] = sum;
}

// A chain of dependent loads inside a loop: the wait is carried round the loop.
template <int U>
__global__ void chase(const int* next, int* out, int steps) {
  int i = threadIdx.x;
#pragma unroll U
  for (int s = 0; s < steps; ++s) i = next[i];
  out[threadIdx.x] = i;
}

// Loads of one iteration ahead: producer in the iteration before.
template <typename T, int U>
__global__ void ahead(const T* __restrict__ a, const T* __restrict__ b, T* c, int n) {
  int i = threadIdx.x;
  T u[U], v[U];
#pragma unroll
  for (int k = 0; k < U; ++k) u[k] = a[i + k * 256], v[k] = b[i + k * 256];
  for (int s = 1; s < n; ++s) {
    T p[U], q[U];
#pragma unroll
    for (int k = 0; k < U; ++k) p[k] = a[i + (s * U + k) * 256], q[k] = b[i + (s * U + k) * 256];
#pragma unroll
    for (int k = 0; k < U; ++k) c[i + (s * U + k) * 256] = u[k] * v[k], u[k] = p[k], v[k] = q[k];
  }
}

// Through shared memory with a barrier, in vectors.
template <typename V, int ROWS>
__global__ void through_shared(const V* __restrict__ x, V* y, int tiles) {
  __shared__ V tile[ROWS][33];
  int lane = threadIdx.x, row = threadIdx.y;
  for (int t = 0; t < tiles; ++t) {
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) tile[r + row % 4][lane] = x[(t * ROWS + r + row % 4) * 32 + lane];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) y[(t * ROWS + r + row % 4) * 32 + lane] = tile[lane % ROWS][r + row % 4];
    __syncthreads();
  }
}

template <typename T, int K>
__global__ void __launch_bounds__(1024, 2) spilled(const T* __restrict__ x, T* y, int n) {
  T held[K];
#pragma unroll
  for (int k = 0; k < K; ++k) held[k] = x[k * n + threadIdx.x];
  for (int s = 0; s < n; ++s) {
    T scale = x[s];
#pragma unroll
    for (int k = 0; k < K; ++k) held[k] = held[k] * scale + held[(k * 7 + 3) % K];
  }
#pragma unroll
  for (int k = 0; k < K; ++k) y[k * n + threadIdx.x] = held[k];
}

// A local array with an index known only at run time.
template <int K>
__global__ void indexed_local(const int* __restrict__ at, const float* __restrict__ x, float* y) {
  float stack[K];
  for (int k = 0; k < K; ++k) stack[k] = x[k * 32 + threadIdx.x];
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < K; ++k) sum += stack[at[k * 32 + threadIdx.x] % K];
  y[threadIdx.x] = sum;
}

template <typename T>
__global__ void atomics(T* cells, T* old, const T* __restrict__ x, int n) {
  __shared__ T local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = T(0);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    atomicAdd(&local[i % 64], x[i]);
    atomicAdd(&cells[i % 1024], x[i]);
    old[i] = atomicAdd(&cells[1024 + i % 128], x[i]);
  }
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&cells[threadIdx.x], local[threadIdx.x]);
}

__global__ void integer_atomics(unsigned* cells, unsigned* old, const unsigned* __restrict__ x, unsigned long long* wide) {
  unsigned v = x[threadIdx.x];
  old[threadIdx.x] = atomicMax(&cells[v], v) + atomicMin(&cells[v + 1], v) + atomicExch(&cells[v + 2], v) +
                     atomicCAS(&cells[v + 3], v, v + 7) + atomicAnd(&cells[v + 4], v) + atomicInc(&cells[v + 5], 99);
  atomicOr(&cells[v + 6], v);
  atomicXor(&cells[v + 8], v);
  wide[v + 1] = atomicCAS(&wide[v], 3ull, 4ull) + atomicAdd(&wide[v + 2], 5ull);
  __shared__ unsigned s[32];
  s[threadIdx.x % 32] = v;
  __syncthreads();
  old[threadIdx.x + 64] = atomicCAS(&s[v % 32], v, 1u) + atomicExch(&s[(v + 1) % 32], 5u) + atomicMin(&s[(v + 2) % 32], 3u);
}

__global__ void lock(int* mutex, double* total, const double* __restrict__ x) {
  double v = x[threadIdx.x];
  while (atomicCAS(mutex, 0, 1) != 0) __nanosleep(20);
  __threadfence();
  *(volatile double*)total = *(volatile double*)total + v;
  __threadfence();
  atomicExch(mutex, 0);
}

__constant__ float table[256];
__global__ void constants(const int* __restrict__ at, float* y) { y[threadIdx.x] = table[at[threadIdx.x] & 255] + table[7]; }

template <typename T>
__global__ void narrow(const T* __restrict__ x, T* y, int n) {
  for (int i = threadIdx.x; i < n; i += 128) {
    T a = x[i], b = x[i + n];
    y[i] = T(a * b + T(3));
    y[i + n] = T(a - b);
  }
}

#if FULL
__global__ void halves(const __half2* __restrict__ x, __half2* y, int n) {
  __half2 sum = __float2half2_rn(0.f);
  for (int i = threadIdx.x; i < n; i += 64) sum = __hfma2(x[i], x[i + n], sum);
  y[threadIdx.x] = h2exp(sum);
}

__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float* y, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += tex2D<float>(t, i + 0.5f, threadIdx.x + 0.5f) * tex1Dfetch<float>(t, i);
  float4 v = tex2D<float4>(t, sum, 1.f);
  surf2Dwrite(v.x + v.w, s, 4 * threadIdx.x, 3);
  y[threadIdx.x] = sum + surf2Dread<float>(s, 4 * threadIdx.x, 4) + v.y;
}

#endif

// Stores whose operands are written again at once: reads of operands are waited for.
template <int K>
__global__ void write_after_read(float4* y, const float* __restrict__ x, int n) {
  for (int i = 0; i < n; ++i) {
    float4 v = make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      y[(i * K + k) * 128 + threadIdx.x] = v;
      v.x = v.y * 1.5f + v.z, v.y = v.z - v.w, v.z = v.w * v.x, v.w = v.x + 2.f;
    }
  }
}

__global__ void generic(float* a, int on_shared, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  float* p = on_shared ? s : a;
  y[threadIdx.x] = p[127 - threadIdx.x];
  p[threadIdx.x] = 3.f;
  atomicAdd(p + (threadIdx.x & 7), 1.f);
}

// Seven-point stencil; matrix products, naive and tiled: what people really profile.
__global__ void stencil(const float* __restrict__ u, float* v, int nx, int ny, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y + 1;
  if (i >= nx - 1 || j >= ny - 1) return;
  for (int k = 1; k < nz - 1; ++k) {
    int at = (k * ny + j) * nx + i;
    v[at] = u[at] * -6.f + u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx] + u[at - nx * ny] + u[at + nx * ny];
  }
}

template <typename T, int TILE, int EACH>
__global__ void matmul(const T* __restrict__ a, const T* __restrict__ b, T* c, int n) {
  __shared__ T s[TILE][TILE], t[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y * EACH, col = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
  T sum[EACH] = {};
  for (int k = 0; k < n; k += TILE) {
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      s[y + e][x] = a[(row + e) * n + k + x];
      t[y + e][x] = b[(k + y + e) * n + col];
    }
    __syncthreads();
#pragma unroll
    for (int l = 0; l < TILE; ++l)
#pragma unroll
      for (int e = 0; e < EACH; ++e) sum[e] += s[y + e][l] * t[l][x];
    __syncthreads();
  }
#pragma unroll
  for (int e = 0; e < EACH; ++e) c[(row + e) * n + col] = sum[e];
}

template __global__ void gather_sum<4, float>(const float*, const int*, float*, int);
template __global__ void chase<1>(const int*, int*, int);
template __global__ void ahead<float, 2>(const float*, const float*, float*, int);
template __global__ void through_shared<float, 8>(const float*, float*, int);
template __global__ void atomics<float>(float*, float*, const float*, int);
template __global__ void spilled<float, 60>(const float*, float*, int);
template __global__ void write_after_read<2>(float4*, const float*, int);
template __global__ void matmul<float, 16, 1>(const float*, const float*, float*, int);
#if FULL
template __global__ void gather_sum<1, float>(const float*, const int*, float*, int);
template __global__ void gather_sum<8, double>(const double*, const int*, double*, int);
template __global__ void gather_sum<24, float>(const float*, const int*, float*, int);
template __global__ void gather_sum<48, long long>(const long long*, const int*, long long*, int);
template __global__ void gather_sum<96, double>(const double*, const int*, double*, int);
template __global__ void chase<4>(const int*, int*, int);
template __global__ void chase<32>(const int*, int*, int);
template __global__ void ahead<double, 1>(const double*, const double*, double*, int);
template __global__ void ahead<double, 8>(const double*, const double*, double*, int);
template __global__ void ahead<float, 16>(const float*, const float*, float*, int);
template __global__ void ahead<int, 24>(const int*, const int*, int*, int);
template __global__ void through_shared<float4, 16>(const float4*, float4*, int);
template __global__ void through_shared<float2, 32>(const float2*, float2*, int);
template __global__ void through_shared<double2, 32>(const double2*, double2*, int);
template __global__ void through_shared<char, 32>(const char*, char*, int);
template __global__ void spilled<float, 24>(const float*, float*, int);
template __global__ void spilled<double, 40>(const double*, double*, int);
template __global__ void spilled<double, 70>(const double*, double*, int);
template __global__ void spilled<int, 100>(const int*, int*, int);
template __global__ void indexed_local<16>(const int*, const float*, float*);
template __global__ void indexed_local<64>(const int*, const float*, float*);
template __global__ void atomics<double>(double*, double*, const double*, int);
template __global__ void atomics<int>(int*, int*, const int*, int);
template __global__ void atomics<unsigned long long>(unsigned long long*, unsigned long long*, const unsigned long long*, int);
template __global__ void narrow<char>(const char*, char*, int);
template __global__ void narrow<unsigned char>(const unsigned char*, unsigned char*, int);
template __global__ void narrow<short>(const short*, short*, int);
template __global__ void narrow<unsigned short>(const unsigned short*, unsigned short*, int);
template __global__ void narrow<long long>(const long long*, long long*, int);
template __global__ void narrow<__half>(const __half*, __half*, int);
template __global__ void write_after_read<8>(float4*, const float*, int);
template __global__ void write_after_read<32>(float4*, const float*, int);
template __global__ void matmul<float, 32, 4>(const float*, const float*, float*, int);
template __global__ void matmul<double, 16, 4>(const double*, const double*, double*, int);
template __global__ void matmul<float, 32, 8>(const float*, const float*, float*, int);
template __global__ void matmul<int, 32, 2>(const int*, const int*, int*, int);
#endif
