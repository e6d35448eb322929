// Reproducible operands from a hash of the index, so that large ones are filled at the speed of memory.
#include "random_fill.hpp"

#include "vectorised.hpp"

namespace strop {
namespace {

// The finaliser "lowbias32" of C. Wellons' hash prospector.
STROP_INLINE uint32_t hash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

STROP_VECTORISED void fill(float* numbers, int32_t count, uint32_t start) {
  // Multiples of 2^-23: rounding finer ones could give 1 itself.
  for (int32_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>(static_cast<int32_t>(hash(start + static_cast<uint32_t>(i))) >> 8) * 0x1p-23F;
}

STROP_VECTORISED void fill(double* numbers, int32_t count, uint32_t start) {
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t at = start + static_cast<uint32_t>(i);
    const double low = static_cast<double>(static_cast<int32_t>(hash(~at) >> 12)) * 0x1p-51;  // 20 bits more
    numbers[i] = static_cast<double>(static_cast<int32_t>(hash(at))) * 0x1p-31 + low;
  }
}

template <typename T>
void fill_in_chunks(T* numbers, int64_t count, uint32_t seed) {
  constexpr int64_t kChunk = int64_t{1} << 20;
  for (int64_t at = 0; at < count; at += kChunk) {
    const uint32_t start = hash(seed ^ hash(static_cast<uint32_t>(at / kChunk)));
    fill(numbers + at, static_cast<int32_t>(count - at < kChunk ? count - at : kChunk), start);
  }
}

}  // namespace

void fill_uniform(float* numbers, int64_t count, uint32_t seed) { fill_in_chunks(numbers, count, seed); }
void fill_uniform(double* numbers, int64_t count, uint32_t seed) { fill_in_chunks(numbers, count, seed); }

}  // namespace strop
