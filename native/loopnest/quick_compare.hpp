// The quick comparison of a row of results with what they should be.
#pragma once

#include <cstdint>

namespace strop {

// The largest |value - centre| * inverse; infinity if any of them is NaN. `step`: elements from value to value.
double largest_excess(const float* values, int64_t step, const float* centre, const float* inverse, int64_t count);
double largest_excess(const double* values, int64_t step, const double* centre, const double* inverse, int64_t count);

}  // namespace strop
