// Our own kernels: between them they make the compiler use every wait and every kind of memory access that
// src/strop/stalls/amd decodes. What each is for stands above it.
#include "hipmini.h"

// one global load feeding arithmetic
__global__ void saxpy(float a, const float *x, float *y, int n) {
  int i = gid();
  if (i < n) y[i] = a * x[i] + y[i];
}

// several loads in flight: vmcnt(N) above 0
__global__ void stencil7(const float *in, float *out, int nx, int ny, int nz) {
  int i = gid() + nx * ny + nx + 1;
  if (i < nx * ny * (nz - 1) - nx - 1)
    out[i] = in[i] * 0.4f + in[i - 1] * 0.1f + in[i + 1] * 0.2f + in[i - nx] * 0.3f + in[i + nx] * 0.5f +
             in[i - nx * ny] * 0.6f + in[i + nx * ny] * 0.7f;
}

// loop-carried: the load of the next round is issued before this round's is used
__global__ void pipelined(const float4_ *__restrict__ x, float4_ *__restrict__ y, int n, int stride) {
  int i = gid();
  float4_ next = y[i];
  float4_ sum = 0;
  for (int k = 0; k < n; ++k) {
    float4_ now = next;
    next = x[i + (k + 1) * stride];
    __builtin_amdgcn_sched_barrier(0);
    sum += now * now;
  }
  y[i] = sum;
}

// pointer chasing: loads whose addresses are loads
__global__ void chase(const int *next, int *out, int steps) {
  int p = gid();
  for (int s = 0; s < steps; ++s) p = next[p];
  out[gid()] = p;
}

// shared memory, barriers, tiled product
__global__ void __launch_bounds__(256) matmul_tiled(const float *a, const float *b, float *c, int n) {
  __shared__ float ta[16][17], tb[16][17];
  int tx = tid() & 15, ty = tid() >> 4, col = bid() * 16 + tx, row = ty;
  float acc = 0;
  for (int k = 0; k < n; k += 16) {
    ta[ty][tx] = a[row * n + k + tx];
    tb[ty][tx] = b[(k + ty) * n + col];
    barrier();
    for (int j = 0; j < 16; ++j) acc += ta[ty][j] * tb[j][tx];
    barrier();
  }
  c[row * n + col] = acc;
}

// reduction in shared memory, one atomic at its end, and one that returns what was there
__global__ void __launch_bounds__(256) reduce(const float *x, float *sum, int *ticket, int *order, int n) {
  __shared__ float part[256];
  int t = tid();
  float s = 0;
  for (int i = gid(); i < n; i += bdim() * 64) s += x[i];
  part[t] = s;
  barrier();
  for (int w = 128; w > 0; w >>= 1) {
    if (t < w) part[t] += part[t + w];
    barrier();
  }
  if (t == 0) {
    __hip_atomic_fetch_add((int *)sum, (int)part[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    order[bid()] = __hip_atomic_fetch_add(ticket, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// histogram: LDS atomics with and without return, then global ones; compare and swap
__global__ void __launch_bounds__(256) histogram(const unsigned char *x, int *bins, int *where, long *lock, int n) {
  __shared__ int local[256];
  local[tid()] = 0;
  barrier();
  for (int i = gid(); i < n; i += 4096) {
    int at = __hip_atomic_fetch_add(&local[x[i]], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    where[i] = at;
  }
  barrier();
  __hip_atomic_fetch_add(&bins[tid()], local[tid()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  long expected = 0;
  __hip_atomic_compare_exchange_strong(lock, &expected, (long)tid(), __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE,
                                       __HIP_MEMORY_SCOPE_AGENT);
  where[tid()] = (int)expected;
}

// double precision: division (v_div_scale, v_div_fmas with its implicit VCC), square root
__global__ void spmv_csr(const int *rows, const int *cols, const double *values, const double *x, double *y, int n) {
  int r = gid();
  if (r >= n) return;
  double sum = 0;
  for (int k = rows[r]; k < rows[r + 1]; ++k) sum += values[k] * x[cols[k]];
  y[r] = sum / (1.0 + __builtin_sqrt(x[r] * x[r]));
}

// transcendentals
__global__ void activations(const float *x, float *y, int n) {
  int i = gid();
  if (i < n) y[i] = __builtin_amdgcn_exp2f(x[i]) * __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_sqrtf(x[i])) +
                    __builtin_amdgcn_sinf(x[i]) + __builtin_amdgcn_logf(x[i]);
}

// flat pointers: the address space isn't known, so a load counts on two counters
__global__ void flat(const float *x, float *out, int pick) {
  __shared__ float table[64];
  table[tid() & 63] = (float)tid();
  barrier();
  volatile float *p = pick > tid() ? &table[(tid() * 7) & 63] : (float *)(x + tid());
  float first = p[0], second = p[1];
  p[2] = first;
  out[gid()] = first * second + x[gid()];
}

// a private array that's indexed at run time: scratch
__global__ void scratch(const int *x, int *y, int n) {
  int stack[32];
  for (int i = 0; i < 32; ++i) stack[i] = x[gid() + i * n];
  for (int i = 0; i < n; ++i) stack[(x[i] + i) & 31] += stack[i & 31];
  y[gid()] = stack[n & 31];
}

// more live values than registers: spills to scratch (and of SGPRs to lanes of a VGPR)
__global__ void __attribute__((amdgpu_num_vgpr(24), amdgpu_waves_per_eu(8))) spills(const float *x, float *y, int n) {
  float v[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) v[i] = x[gid() + i * n];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 80; i += 4) v[i] = v[i] * v[(i + 7) % 80] + 1.0f;
  }
  float s = 0;
#pragma unroll
  for (int i = 0; i < 80; ++i) s += v[i] * v[(i * 3) % 80];
  y[gid()] = s;
}

// device functions that aren't inlined: getpc, swappc, setpc
__device__ __noinline__ float poly(float x, int n) {
  float r = 0;
  for (int i = 0; i < n; ++i) r = r * x + (float)i;
  return r;
}
__device__ __noinline__ float twice(const float *x, int n) { return poly(x[tid()], n) + poly(x[tid() + 1], n + 1); }
__global__ void calls(const float *x, float *y, int n) { y[gid()] = twice(x, n) * 2.0f + poly(y[gid()], n); }

// a call whose target isn't known
typedef float (*op)(float, int);
__global__ void indirect(op *ops, const float *x, float *y, int n) { y[gid()] = ops[bid()](x[gid()], n); }

// inlined functions, for the inline stack
__device__ inline float inner(const float *x, int i) { return x[i] * 2.0f; }
__device__ inline float middle(const float *x, int i) { return inner(x, i) + inner(x, i + 64); }
__global__ void inlined(const float *x, float *y) { y[gid()] = middle(x, gid()) + 1.0f; }

// lanes: shuffles, readlane, votes, scan
__global__ void lanes(const int *x, int *y, int n) {
  int v = x[gid()];
  v += __builtin_amdgcn_ds_bpermute(((tid() + 1) & 63) << 2, v);
  v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, false);
  v += __builtin_amdgcn_ds_swizzle(v, 0x041f);
  int first = __builtin_amdgcn_readfirstlane(v);
  v += __builtin_amdgcn_readlane(v, n & 31) + first;
  y[gid()] = v + __builtin_popcountll(__builtin_amdgcn_ballot_w64(v > n));
}

// divergence in a loop: exec masks, several exits
__global__ void mandel(const float2_ *c, int *out, int most) {
  float2_ z = 0, k = c[gid()];
  int n = 0;
  while (n < most) {
    float r = z.x * z.x - z.y * z.y + k.x, i = 2 * z.x * z.y + k.y;
    if (r * r + i * i > 4.0f) break;
    if (r < -3.0f) { n += 7; continue; }
    z.x = r, z.y = i;
    ++n;
  }
  out[gid()] = n;
}

// scalar memory in a loop with other work: lgkmcnt waits of SMEM and LDS mixed
__global__ void __launch_bounds__(256) uniform_table(const __attribute__((address_space(4))) float *table, const float *x, float *y, int n) {
  __shared__ float seen[256];
  float s = 0;
  seen[tid()] = x[gid()];
  barrier();
  for (int i = 0; i < n; ++i) s += table[i * 3] * seen[(tid() + i) & 255] + table[i + 1];
  y[gid()] = s;
}

// bytes and halves: loads into parts of registers
__global__ void bytes(const unsigned char *x, const short *h, const half2_ *f, half2_ *g, unsigned char *y, int n) {
  int i = gid();
  if (i >= n) return;
  int a = x[i] + x[i + 1] * 3 + h[i];
  half2_ t = f[i];
  t.x = ((const _Float16 *)f)[i * 5];
  t.y = ((const _Float16 *)f)[i * 7 + 1];
  g[i] = t * t + f[i + 1];
  y[i] = (unsigned char)(a >> 2);
}

// two loops in one another, 64-bit integers, carries
__global__ void bignum(const unsigned long *a, const unsigned long *b, unsigned long *c, int n) {
  unsigned long carry = 0;
  for (int i = 0; i < n; ++i) {
    unsigned __int128 t = carry;
    for (int j = 0; j <= i; ++j) t += (unsigned __int128)a[j * 64 + tid()] * b[(i - j) * 64 + tid()];
    c[i * 64 + tid()] = (unsigned long)t;
    carry = (unsigned long)(t >> 64);
  }
}

// stores with release, loads with acquire: waits for stores
__global__ void publish(float *data, int *flag, float *out, int n) {
  data[gid()] = (float)n;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  while (__hip_atomic_load(flag + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
  out[gid()] = data[n - gid()];
}

// buffer resources: buffer loads and stores, scalar buffer loads, with and without offsets
typedef int int4_ __attribute__((ext_vector_type(4)));
__global__ void buffers(void *base, float *out, int n) {
  __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(base, 0, 1 << 20, 0x27000);
  int a = __builtin_amdgcn_raw_buffer_load_b32(r, tid() * 4, n, 0);
  int b = __builtin_amdgcn_raw_buffer_load_b32(r, tid() * 4, n, 0x0);
  typedef int int4 __attribute__((ext_vector_type(4)));
  int4 q = __builtin_amdgcn_raw_buffer_load_b128(r, tid() * 16 + 64, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(a + b + q.x + q.w, r, tid() * 4, n + 4, 0);
  out[gid()] = (float)(q.y + q.z);
}

// tensor instructions of each family: dependences through AGPRs and VGPRs with no wait instruction
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) || defined(__gfx908__)
__global__ void __launch_bounds__(64) mfma(const half4_ *a, const half4_ *b, float *c, int k) {
  float16_ acc = 0;
  float4_ small = 0;
  for (int i = 0; i < k; ++i) {
    half4_ x = a[i * 64 + tid()], y = b[i * 64 + tid()];
    acc = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, acc, 0, 0, 0);
    small = __builtin_amdgcn_mfma_f32_16x16x16f16(y, x, small, 0, 0, 0);
  }
  for (int i = 0; i < 16; ++i) c[i * 64 + tid()] = acc[i] + small[i & 3];
}
#if !defined(__gfx908__)
__global__ void __launch_bounds__(64) mfma_f64(const double *a, const double *b, double4_ *c, int k) {
  double4_ acc = 0;
  for (int i = 0; i < k; ++i) acc = __builtin_amdgcn_mfma_f64_16x16x4f64(a[i * 64 + tid()], b[i * 64 + tid()], acc, 0, 0, 0);
  c[tid()] = acc;
}
#endif
#elif defined(__gfx1100__)
__global__ void __launch_bounds__(32) wmma(const half16_ *a, const half16_ *b, float8_ *c, int k) {
  float8_ acc = 0;
  for (int i = 0; i < k; ++i) acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[i * 32 + tid()], b[i * 32 + tid()], acc);
  c[tid()] = acc;
}
#elif defined(__gfx1201__)
__global__ void __launch_bounds__(32) wmma(const half8_ *a, const half8_ *b, float8_ *c, int k) {
  float8_ acc = 0;
  for (int i = 0; i < k; ++i) acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a[i * 32 + tid()], b[i * 32 + tid()], acc);
  c[tid()] = acc;
}
#endif
