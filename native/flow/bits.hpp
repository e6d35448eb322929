// Sets of small numbers: a row of bits for each block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strop::flow {

class BitRows {
 public:
  BitRows(size_t rows, size_t bits) : words_((bits + 63) / 64), bits_(rows * words_) {}

  uint64_t* row(size_t row) { return bits_.data() + row * words_; }
  const uint64_t* row(size_t row) const { return bits_.data() + row * words_; }
  size_t words() const { return words_; }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

inline bool has(const uint64_t* row, size_t bit) { return row[bit / 64] >> (bit % 64) & 1; }
inline void set(uint64_t* row, size_t bit) { row[bit / 64] |= uint64_t{1} << (bit % 64); }
inline void clear(uint64_t* row, size_t bit) { row[bit / 64] &= ~(uint64_t{1} << (bit % 64)); }

}  // namespace strop::flow
