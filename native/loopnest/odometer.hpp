// Walks the index space of some axes and keeps the byte offset of up to N tensors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strop {

template <size_t N>
class Odometer {
 public:
  // The last axis added turns fastest.
  void add(int64_t extent, const std::array<int64_t, N>& strides) {
    if (extent != 1) wheels_.push_back({extent, 0, strides});
  }

  const std::array<int64_t, N>& offsets() const { return offsets_; }

  // The next point; false after the last, and then it stands at the first again.
  bool next() {
    for (size_t w = wheels_.size(); w-- > 0;) {
      Wheel& wheel = wheels_[w];
      const bool carry = ++wheel.index == wheel.extent;
      const int64_t turns = carry ? 1 - wheel.extent : 1;
      for (size_t t = 0; t < N; ++t) offsets_[t] += turns * wheel.strides[t];
      if (!carry) return true;
      wheel.index = 0;
    }
    return false;
  }

 private:
  struct Wheel {
    int64_t extent, index;
    std::array<int64_t, N> strides;
  };
  std::vector<Wheel> wheels_;
  std::array<int64_t, N> offsets_{};
};

}  // namespace strop
