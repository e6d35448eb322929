// The simplest accelerator: a queue of commands, each served for a fixed time, that remembers what it was sent.
// A stand-in for tests of the core's side of the seam.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "coprocessor.hpp"
#include "memory.hpp"

namespace strop::rocket {

class QueueCoprocessor final : public Coprocessor {
 public:
  // Funct 0 adds its sources and answers; 1 writes rs2 to memory at rs1 once it has been served; 2 is refused.
  QueueCoprocessor(Memory& memory, uint64_t depth, uint64_t service)
      : memory_(memory), depth_(std::max<uint64_t>(depth, 1)), service_(service) {}

  Accepted issue(const RoccCommand& command) override {
    if (command.funct == 2) throw Trap(TrapKind::illegal_command, command.rs1, 0, "funct 2 is refused");
    advance(command.cycle);
    Accepted accepted{command.cycle, command.rs1 + command.rs2, 0};
    if (pending_.size() >= depth_) {  // room when enough of those before it have been served
      accepted.cycle = std::max(accepted.cycle, pending_[pending_.size() - depth_].done);
      advance(accepted.cycle);
    }
    const uint64_t begin = pending_.empty() ? accepted.cycle : std::max(accepted.cycle, pending_.back().done);
    pending_.push_back({command, begin + service_});
    accepted.result_cycle = begin + service_;
    seen_.push_back(command);
    return accepted;
  }

  void advance(uint64_t cycle) override {
    while (!pending_.empty() && pending_.front().done <= cycle) {
      const RoccCommand command = pending_.front().command;
      pending_.pop_front();
      if (command.funct == 1) memory_.dma_write(command.rs1, 8, &command.rs2, kArrayComputed);
    }
  }

  bool busy() const override { return !pending_.empty(); }

  uint64_t drain(uint64_t cycle) override {
    if (!pending_.empty()) cycle = std::max(cycle, pending_.back().done);
    advance(cycle);
    return cycle;
  }

  const std::vector<RoccCommand>& seen() const { return seen_; }

 private:
  struct Pending {
    RoccCommand command;
    uint64_t done;
  };
  Memory& memory_;
  uint64_t depth_, service_;
  std::deque<Pending> pending_;
  std::vector<RoccCommand> seen_;
};

}  // namespace strop::rocket
