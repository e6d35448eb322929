// Who used which bank in the current cycle. Writes of the array come first, then those of DMA, then zero-fills, then
// reads of the array, then reads of stores (Scratchpad.scala, AccumulatorMem.scala).
#pragma once

#include <cstdint>

namespace strop::gemmini {

struct Ports {
  uint32_t spad_written = 0;       // a bit for each bank: single-ported, so none of them is read in this cycle
  uint32_t spad_read = 0;
  uint32_t accumulator_written = 0;
  uint32_t accumulator_busy = 0;   // an accumulating write reads its bank too
  uint32_t accumulator_read = 0;
  void clear() { *this = Ports(); }
};

// Fixed ring of at most `N` items.
template <typename T, int N>
class Ring {
 public:
  bool empty() const { return count_ == 0; }
  int size() const { return count_; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }
  T& at(int i) { return items_[(head_ + i) % N]; }
  const T& at(int i) const { return items_[(head_ + i) % N]; }
  T& push() { return items_[(head_ + count_++) % N]; }
  void push(const T& item) { push() = item; }
  void pop() {
    head_ = (head_ + 1) % N;
    --count_;
  }
  void drop_last() { --count_; }
  void clear() { head_ = count_ = 0; }

 private:
  T items_[N];
  int head_ = 0, count_ = 0;
};

}  // namespace strop::gemmini
