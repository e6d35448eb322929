/* The constant schedules written by hand: what the code generator's literal lowering is measured against.
 *
 * C[m][n] = sum over k of A[m][k] * B[k][n], row-major float32. A tile of some rows by two vectors stays in registers
 * while k runs; 4 rows is the published recipe (m outside n), with 6 and 14 n runs outside m. Ragged edges get the same
 * tile with fewer rows or a masked last vector. Built with -O3 -mavx2 -mfma or -mavx512f by constant_schedules.py.
 */
#include <immintrin.h>

#ifdef __AVX512F__
#define WIDTH 16
typedef __m512 vec;
typedef __mmask16 mask;
static inline mask mask_of(long lanes) { return (mask)((1u << lanes) - 1); }
static inline vec load(const float *p) { return _mm512_loadu_ps(p); }
static inline vec load_some(const float *p, mask m) { return _mm512_maskz_loadu_ps(m, p); }
static inline void store(float *p, vec v) { _mm512_storeu_ps(p, v); }
static inline void store_some(float *p, vec v, mask m) { _mm512_mask_storeu_ps(p, m, v); }
static inline vec spread(const float *p) { return _mm512_set1_ps(*p); }
static inline vec multiply_add(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec zero(void) { return _mm512_setzero_ps(); }
#else
#define WIDTH 8
typedef __m256 vec;
typedef __m256i mask;
static const int kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
static inline mask mask_of(long lanes) { return _mm256_loadu_si256((const mask *)(kMasks + 8 - lanes)); }
static inline vec load(const float *p) { return _mm256_loadu_ps(p); }
static inline vec load_some(const float *p, mask m) { return _mm256_maskload_ps(p, m); }
static inline void store(float *p, vec v) { _mm256_storeu_ps(p, v); }
static inline void store_some(float *p, vec v, mask m) { _mm256_maskstore_ps(p, m, v); }
static inline vec spread(const float *p) { return _mm256_broadcast_ss(p); }
static inline vec multiply_add(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
static inline vec zero(void) { return _mm256_setzero_ps(); }
#endif

/* One tile: `rows` and `columns` are compile-time constants after inlining, so both loops unroll into registers. */
static inline __attribute__((always_inline)) void tile(const int rows, const int columns, long n, long k,
                                                       const float *a, const float *b, float *c, const int masked,
                                                       mask rest) {
  vec sum[14][2];
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < columns; ++v) sum[r][v] = zero();
  for (long p = 0; p < k; ++p) {
    vec row[2];
#pragma GCC unroll 2
    for (int v = 0; v < columns; ++v)
      row[v] = masked && v == columns - 1 ? load_some(b + p * n + v * WIDTH, rest) : load(b + p * n + v * WIDTH);
#pragma GCC unroll 14
    for (int r = 0; r < rows; ++r) {
      const vec x = spread(a + r * k + p);
#pragma GCC unroll 2
      for (int v = 0; v < columns; ++v) sum[r][v] = multiply_add(x, row[v], sum[r][v]);
    }
  }
#pragma GCC unroll 14
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < columns; ++v) {
      if (masked && v == columns - 1)
        store_some(c + r * n + v * WIDTH, sum[r][v], rest);
      else
        store(c + r * n + v * WIDTH, sum[r][v]);
    }
}

#define ROW_CASE(R) \
  case R: \
    if (wide == 2 * WIDTH) tile(R, 2, n, k, a, b, c, 0, rest); \
    else if (wide > WIDTH) tile(R, 2, n, k, a, b, c, 1, rest); \
    else if (wide == WIDTH) tile(R, 1, n, k, a, b, c, 0, rest); \
    else tile(R, 1, n, k, a, b, c, 1, rest); \
    break;

static void any_tile(long rows, long wide, long n, long k, const float *a, const float *b, float *c) {
  const mask rest = mask_of(wide % WIDTH);
  switch (rows) {
    ROW_CASE(1) ROW_CASE(2) ROW_CASE(3) ROW_CASE(4) ROW_CASE(5) ROW_CASE(6)
#ifdef __AVX512F__
    ROW_CASE(7) ROW_CASE(8) ROW_CASE(9) ROW_CASE(10) ROW_CASE(11) ROW_CASE(12) ROW_CASE(13) ROW_CASE(14)
#endif
  }
}

static inline long least(long x, long y) { return x < y ? x : y; }

/* rows outside columns: the published recipe */
void rows_first(long step, long m, long n, long k, const float *a, const float *b, float *c) {
  for (long i = 0; i < m; i += step)
    for (long j = 0; j < n; j += 2 * WIDTH)
      any_tile(least(step, m - i), least(2 * WIDTH, n - j), n, k, a + i * k, b + j, c + i * n + j);
}

void columns_first(long step, long m, long n, long k, const float *a, const float *b, float *c) {
  for (long j = 0; j < n; j += 2 * WIDTH)
    for (long i = 0; i < m; i += step)
      any_tile(least(step, m - i), least(2 * WIDTH, n - j), n, k, a + i * k, b + j, c + i * n + j);
}
