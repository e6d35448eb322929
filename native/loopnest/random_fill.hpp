// Reproducible operands.
#pragma once

#include <cstdint>

namespace strop {

// Numbers uniform in [-1, 1): the i-th depends on seed and i alone.
void fill_uniform(float* numbers, int64_t count, uint32_t seed);
void fill_uniform(double* numbers, int64_t count, uint32_t seed);

}  // namespace strop
