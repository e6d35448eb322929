// The inner loops of the float64 reference: one line of terms added to a row, or reduced to one value.
#pragma once

#include <cstdint>

#include "spec.hpp"

namespace strop {

// `value` gathers the terms in float64 and `scale` their absolute values (max and min: the largest).
// Elements of `left` and `right` lie `left_step` and `right_step` elements apart; `right` is null with one input.
template <typename T>
struct Line {
  const T* left;
  const T* right;
  int64_t left_step, right_step;
  int64_t count;
};

constexpr int kLinesAtOnce = 4;

// One term of each line for each of `count` neighbouring outputs; up to kLinesAtOnce lines that differ only in place.
template <typename T>
void add_to_row(const Spec& problem, const Line<T>* lines, int line_count, double* value, double* scale);

// All terms for one output.
template <typename T>
void reduce_line(const Spec& problem, const Line<T>& line, double* value, double* scale);

}  // namespace strop
