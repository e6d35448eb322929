// How far an epilogue carries the error of its input: running error analysis, one bound an operation.
#pragma once

#include <vector>

#include "spec.hpp"

namespace strop {

struct Bounded {
  double value;
  double error;  // infinite where nothing can be said
};

// `operands` holds the value of each epilogue operand at this output element.
Bounded carry(const std::vector<EpilogueOp>& program, Scalar type, Bounded x, const double* operands);

// The error allowed to a reduction of `terms` terms whose absolute values sum up to (max, min: are at most) `scale`.
double reduction_error(const Spec& problem, int64_t terms, double scale);

}  // namespace strop
