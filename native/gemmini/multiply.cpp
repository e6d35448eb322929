#include "gemmini/multiply.hpp"

#include <cmath>

#include "gemmini/arithmetic.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace strop::gemmini {

namespace {

void multiply_floats(int dim, const int32_t* a, const int32_t* b, const int32_t* start, int32_t* out, int rows) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < dim; j++) {
      float sum = as_float(start[i * dim + j]);
      for (int k = 0; k < dim; k++) sum = std::fma(as_float(a[i * dim + k]), as_float(b[k * dim + j]), sum);
      out[i * dim + j] = as_bits(canonical(sum));
    }
}

void multiply_integers(int dim, const int32_t* a, const int32_t* b, const int32_t* start, int32_t* out, int rows) {
  for (int i = 0; i < rows; i++) {
    uint32_t sum[kMaxDim];
    for (int j = 0; j < dim; j++) sum[j] = static_cast<uint32_t>(start[i * dim + j]);
    for (int k = 0; k < dim; k++) {
      const int32_t left = a[i * dim + k];
      for (int j = 0; j < dim; j++) sum[j] += static_cast<uint32_t>(left * b[k * dim + j]);
    }
    for (int j = 0; j < dim; j++) out[i * dim + j] = static_cast<int32_t>(sum[j]);
  }
}

#if defined(__SSE2__)
// 16 x 16: rows k and k + 1 of b side by side as int16, so that one pmaddwd does two products of each of four columns.
void multiply_16(const int32_t* a, const int32_t* b, const int32_t* start, int32_t* out, int rows) {
  alignas(16) int16_t pairs[8][16][2];
  for (int k = 0; k < 16; k++)
    for (int j = 0; j < 16; j++) pairs[k / 2][j][k % 2] = static_cast<int16_t>(b[k * 16 + j]);
  for (int i = 0; i < rows; i++) {
    __m128i sum[4];
    for (int q = 0; q < 4; q++) sum[q] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(start + i * 16 + 4 * q));
    for (int k = 0; k < 8; k++) {
      const int32_t low = a[i * 16 + 2 * k], high = a[i * 16 + 2 * k + 1];
      if ((low | high) == 0) continue;
      const __m128i left = _mm_set1_epi32((low & 0xFFFF) | static_cast<int32_t>(static_cast<uint32_t>(high) << 16));
      for (int q = 0; q < 4; q++)
        sum[q] = _mm_add_epi32(
            sum[q], _mm_madd_epi16(left, _mm_load_si128(reinterpret_cast<const __m128i*>(&pairs[k][4 * q][0]))));
    }
    for (int q = 0; q < 4; q++) _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * 16 + 4 * q), sum[q]);
  }
}
#endif

}  // namespace

void multiply(const Geometry& g, const int32_t* a, const int32_t* b, const int32_t* start, int32_t* out, int rows) {
  if (g.floating) return multiply_floats(g.dim, a, b, start, out, rows);
#if defined(__SSE2__)
  if (g.dim == 16) return multiply_16(a, b, start, out, rows);
#endif
  multiply_integers(g.dim, a, b, start, out, rows);
}

}  // namespace strop::gemmini
