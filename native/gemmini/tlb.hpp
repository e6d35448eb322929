// Translation, where it is modelled (tlb.miss > 0): a few entries that loads and stores share, and for each of the two
// the page it used last (FrontendTLB.scala). In machine mode, as bare-metal programs run, every look-up hits.
#pragma once

#include <cstdint>
#include <vector>

#include "gemmini/timing.hpp"

namespace strop::gemmini {

class Tlb {
 public:
  explicit Tlb(const Timing& timing) : timing_(timing) {}
  void reset() {
    pages_.clear();
    last_[0] = last_[1] = kNever;
    filling_ = kNever;
    misses = 0;
  }

  // Whether `user` (0 loads, 1 stores) may go on with `address` now. A miss starts a walk, one at a time.
  bool translates(int user, uint64_t address, Cycle now) {
    if (timing_.tlb_miss == 0) return true;
    const uint64_t page = address >> 12;
    if (last_[user] == page) return true;
    if (filling_ != kNever && filled_at_ <= now) {
      pages_.insert(pages_.begin(), filling_);
      if (static_cast<int>(pages_.size()) > timing_.tlb_entries) pages_.pop_back();
      filling_ = kNever;
    }
    for (size_t i = 0; i < pages_.size(); ++i) {
      if (pages_[i] != page) continue;
      pages_.erase(pages_.begin() + static_cast<std::ptrdiff_t>(i));
      pages_.insert(pages_.begin(), page);
      last_[user] = page;
      return true;
    }
    if (filling_ == kNever) {
      filling_ = page;
      filled_at_ = now + timing_.tlb_miss;
      ++misses;
    }
    return false;
  }
  Cycle next() const { return filling_ == kNever ? kNever : filled_at_; }

  uint64_t misses = 0;

 private:
  const Timing& timing_;
  std::vector<uint64_t> pages_;  // most recently used first
  uint64_t last_[2] = {kNever, kNever};
  uint64_t filling_ = kNever;
  Cycle filled_at_ = 0;
};

}  // namespace strop::gemmini
