// Rocket's branch prediction (BTB.scala, Frontend.scala): a small fully associative target buffer, a table of one-bit
// directions hashed with history, a return stack. It says how many cycles of fetch each transfer of control costs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strop::rocket {

struct BranchCosts {
  uint64_t mispredict, redirect, misaligned_target;
};

class BranchPredictor {
 public:
  BranchPredictor(uint64_t btb_entries, uint64_t bht_entries, uint64_t ras_entries, BranchCosts costs);
  void reset();

  // Simplified: entries are found by the branch's own address (Rocket: that of its fetch packet), the pages of targets
  // aren't limited, replacement is round-robin (Rocket: pseudo-LRU), history is that of the outcomes.
  uint64_t branch(uint64_t pc, bool taken) {
    const uint64_t slot = ((pc >> 2) ^ ((pc >> 2 >> bht_bits_) & 3) ^ hashed_history()) & bht_mask_;
    const bool predicted = bht_[slot];
    bht_[slot] = taken;
    history_ = (history_ >> 1) | (taken ? 128 : 0);
    if (predicted != taken) {
      if (taken && find(pc) == nullptr) insert(pc, 0);
      return costs_.mispredict;
    }
    if (!taken || find(pc) != nullptr) return 0;
    insert(pc, 0);
    return costs_.redirect;
  }

  uint64_t jump(uint64_t pc, bool call, uint64_t next) {
    if (call) push(next);
    if (find(pc) != nullptr) return 0;
    insert(pc, 0);
    return costs_.redirect;
  }

  uint64_t jump_to_register(uint64_t pc, uint64_t target, bool call, bool returns, uint64_t next) {
    Entry* entry = find(pc);
    uint64_t cost = 0;
    if (returns && depth_ > 0) {
      cost = pop() != target ? costs_.mispredict : entry != nullptr ? 0 : costs_.redirect;
      if (entry == nullptr) insert(pc, target);
    } else if (entry == nullptr) {
      cost = costs_.mispredict;
      insert(pc, target);
    } else if (entry->target != target) {
      cost = costs_.mispredict;
      entry->target = target;
    }
    if (call) push(next);
    return cost;
  }

  // What landing on a 4-byte instruction that straddles two fetches costs.
  uint64_t landing(uint64_t target, bool four_bytes) const {
    return four_bytes && (target & 2) ? costs_.misaligned_target : 0;
  }

 private:
  struct Entry {
    uint64_t pc, target;
  };

  // Three bits from eight, by the multiplier of BTB.scala (floor(sqrt(3) / 2 * 256)), at the top of the index.
  uint64_t hashed_history() const { return ((history_ * 221 >> 5) & 7) << (bht_bits_ > 3 ? bht_bits_ - 3 : 0); }

  Entry* find(uint64_t pc) {
    if (entries_.empty()) return nullptr;
    uint8_t& hint = hints_[(pc >> 1) & (hints_.size() - 1)];
    if (entries_[hint].pc == pc) return &entries_[hint];
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].pc != pc) continue;
      hint = static_cast<uint8_t>(i);
      return &entries_[i];
    }
    return nullptr;
  }
  void insert(uint64_t pc, uint64_t target) {
    if (entries_.empty()) return;
    entries_[next_] = {pc, target};
    hints_[(pc >> 1) & (hints_.size() - 1)] = static_cast<uint8_t>(next_);
    next_ = next_ + 1 == entries_.size() ? 0 : next_ + 1;
  }
  void push(uint64_t address) {
    if (stack_.empty()) return;
    top_ = top_ + 1 == stack_.size() ? 0 : top_ + 1;
    stack_[top_] = address;
    if (depth_ < stack_.size()) ++depth_;
  }
  uint64_t pop() {
    const uint64_t address = stack_[top_];
    top_ = top_ == 0 ? stack_.size() - 1 : top_ - 1;
    --depth_;
    return address;
  }

  BranchCosts costs_;
  std::vector<Entry> entries_;
  std::array<uint8_t, 1024> hints_{};
  size_t next_ = 0;
  std::vector<uint8_t> bht_;
  uint64_t bht_mask_, bht_bits_, history_ = 0;
  std::vector<uint64_t> stack_;
  size_t top_ = 0, depth_ = 0;
};

}  // namespace strop::rocket
