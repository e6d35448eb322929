// The memory of one operand while kernels are checked and timed: placed like the user's array, fenced on both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "spec.hpp"

namespace strop {

// Where pages that fault on any access stand: nowhere, right after the last byte, or right before the first.
enum class Guard { none = 0, after = 1, before = 2 };

class TensorBuffer {
 public:
  // `alignment` is the class of the address of the element at index zero: 64, 32 or 16 means a multiple of it and of
  // no larger power of two (64: of at least 64); any other, of the element only. `place` tells operands apart. The
  // memory is poisoned: a quiet NaN of its own in every element, gap and fence.
  TensorBuffer(const Tensor& tensor, const std::vector<int64_t>& sizes, Scalar type, int alignment, Guard guard,
               int place);
  ~TensorBuffer();
  TensorBuffer(const TensorBuffer&) = delete;
  TensorBuffer& operator=(const TensorBuffer&) = delete;

  char* zero() const { return zero_; }              // the element at index zero
  char* lowest() const { return zero_ + lowest_; }  // the first byte of an element
  size_t span() const { return static_cast<size_t>(end_ - lowest_); }

  void fill_random(uint32_t seed);                  // elements uniform in [-1, 1); fences and wide gaps stay
  int64_t count_poison() const;                     // elements that nobody wrote
  void remember();                                  // what it holds now is how it should stay
  void restore();
  bool fences_unchanged() const;
  bool unchanged();                                 // all of it; of a large one, another sixteenth of it each time
  bool gaps_unchanged();                            // overwrites the elements with what was remembered

  bool is_poison(const char* element) const { return std::memcmp(element, &poison_, item_) == 0; }

 private:
  bool dense() const { return elements_ * item_ == static_cast<int64_t>(span()); }
  template <typename Body>
  void each_element(const Body& body) const;
  template <typename T>
  void fill_elements(uint32_t seed);

  std::vector<int64_t> extents_, strides_;  // of the axes that index it
  int item_;
  uint64_t poison_;                         // arithmetic hands NaNs on: each operand has its own, to tell whose it is
  int64_t lowest_ = 0, end_ = 0;            // bytes from zero_: [lowest_, end_)
  int64_t elements_ = 1;
  char* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  char* zero_ = nullptr;
  char* begin_ = nullptr;                   // with its fences
  size_t bytes_ = 0;
  std::vector<char> remembered_;
  size_t phase_ = 0;
};

}  // namespace strop
