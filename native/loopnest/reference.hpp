// What a contraction's result must be: its value in float64 and how far a computation in its own type may lie from it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel.hpp"
#include "spec.hpp"

namespace strop {

// Neighbouring output elements along the row axis, `count` of them from the byte `offset` of the output.
struct Row {
  int64_t offset;
  int64_t count;
  size_t first;  // place of the first one's value and error
};

struct Reference {
  std::vector<Row> rows;
  int row_axis = -1;          // -1: the output is one element
  int64_t row_stride = 0;     // bytes of the output between neighbours in a row
  bool complete = true;       // all output elements; otherwise a sample of them
  std::vector<double> value;  // after the epilogue
  std::vector<double> error;  // infinite where nothing can be said
};

// More multiply-adds than this and only a sample of the output is computed.
constexpr int64_t kReferenceBudget = int64_t{1} << 25;

// `arguments.output` holds what an accumulating contraction adds to.
Reference make_reference(const Spec& problem, const Arguments& arguments, uint64_t seed,
                         int64_t budget = kReferenceBudget);

}  // namespace strop
