// The quick comparison. Floats without their sign are ordered as integers are, NaN above all, so one maximum does it.
#include "quick_compare.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "vectorised.hpp"

namespace strop {
namespace {

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <typename T>
Bits<T> size_of(T value, T centre, T inverse) {
  return std::bit_cast<Bits<T>>((value - centre) * inverse) & std::numeric_limits<Bits<T>>::max();
}

template <typename T>
STROP_INLINE Bits<T> largest(const T* values, const T* centre, const T* inverse, int64_t count) {
  constexpr int kLanes = 32 / sizeof(T);
  typedef T Vector __attribute__((vector_size(32)));
  typedef Bits<T> BitVector __attribute__((vector_size(32)));
  BitVector most{};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    Vector value, middle, factor;
    std::memcpy(&value, values + i, sizeof value);
    std::memcpy(&middle, centre + i, sizeof middle);
    std::memcpy(&factor, inverse + i, sizeof factor);
    const BitVector size =
        reinterpret_cast<BitVector>((value - middle) * factor) & std::numeric_limits<Bits<T>>::max();
    most = size > most ? size : most;
  }
  Bits<T> result = 0;
  for (int lane = 0; lane < kLanes; ++lane) result = std::max<Bits<T>>(result, most[lane]);
  for (int64_t i = whole; i < count; ++i) result = std::max(result, size_of(values[i], centre[i], inverse[i]));
  return result;
}

STROP_VECTORISED int32_t dense(const float* values, const float* centre, const float* inverse, int64_t count) {
  return largest(values, centre, inverse, count);
}
STROP_VECTORISED int64_t dense(const double* values, const double* centre, const double* inverse, int64_t count) {
  return largest(values, centre, inverse, count);
}

template <typename T>
double excess(const T* values, int64_t step, const T* centre, const T* inverse, int64_t count) {
  Bits<T> size = 0;
  if (step == 1)
    size = dense(values, centre, inverse, count);
  else
    for (int64_t i = 0; i < count; ++i) size = std::max(size, size_of(values[i * step], centre[i], inverse[i]));
  const T ratio = std::bit_cast<T>(size);
  return ratio >= 0 ? ratio : std::numeric_limits<double>::infinity();
}

}  // namespace

double largest_excess(const float* values, int64_t step, const float* centre, const float* inverse, int64_t count) {
  return excess(values, step, centre, inverse, count);
}

double largest_excess(const double* values, int64_t step, const double* centre, const double* inverse, int64_t count) {
  return excess(values, step, centre, inverse, count);
}

}  // namespace strop
