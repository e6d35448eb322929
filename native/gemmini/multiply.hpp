// One step of the array: out = start + a * b, of dim x dim matrices, row-major, int32 or float32 by bits.
#pragma once

#include <cstdint>

#include "gemmini/parameters.hpp"

namespace strop::gemmini {

// The first `rows` rows. `out` may be `start`. int8 geometry: the elements of a and b are within int8, sums wrap.
// float32: each element is a chain of fused multiply-adds from k = 0 up, as the PEs are (Arithmetic.scala: mac).
void multiply(const Geometry& geometry, const int32_t* a, const int32_t* b, const int32_t* start, int32_t* out,
              int rows);

}  // namespace strop::gemmini
