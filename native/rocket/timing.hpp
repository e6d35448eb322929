// When instructions issue: Rocket's in-order pipeline as a scoreboard of registers, and the units that block.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "branch_predictor.hpp"
#include "decode.hpp"
#include "parameters.hpp"
#include "tag_cache.hpp"

namespace strop::rocket {

// Cycles in which nothing issued, by reason.
struct Stalls {
  uint64_t operand = 0;       // a source, the destination or a unit wasn't ready
  uint64_t control = 0;       // mispredicted, redirected or flushed
  uint64_t cache = 0;
  uint64_t back_pressure = 0;  // the accelerator's queue was full
  uint64_t fence = 0;          // a fence waited for the accelerator
  uint64_t misaligned = 0;
};

class Timing {
 public:
  explicit Timing(const Parameters& parameters);
  void reset();  // cycle 0, all predictors and caches cold

  uint64_t cycle = 0;  // at which the next instruction can issue
  std::array<uint64_t, kRegisters> ready{};
  Stalls stalls;

  // Issues an instruction: returns its cycle.
  uint64_t issue(const Instruction& i) {
    uint64_t at = cycle;
    if (ready[i.rs1] > at) at = ready[i.rs1];
    if (ready[i.rs2] > at) at = ready[i.rs2];
    if (ready[i.rs3] > at) at = ready[i.rs3];
    if (ready[i.rd] > at) at = ready[i.rd];
    stalls.operand += at - cycle;
    ready[i.rd] = at + latency_[static_cast<int>(i.cost)];
    ready[kSink] = 0;
    cycle = at + 1;
    return at;
  }

  // The multiplier and divider is one unit that isn't pipelined: call after issue(), with the operands.
  void multiply(const Instruction& i, uint64_t a) {
    occupy(i, overhead_ + multiply_steps(i, a));
  }
  void divide(const Instruction& i, uint64_t a, uint64_t b) { occupy(i, overhead_ + divide_steps(i, a, b)); }

  // Float operations wait for a division or root in flight, which blocks the FPU.
  void float_operation(const Instruction& i) {
    if (fpu_free_ > cycle - 1) delay(i, fpu_free_);
    if (i.cost == Cost::float_divide_single || i.cost == Cost::float_divide_double)
      fpu_free_ = cycle - 1 + latency_[static_cast<int>(i.cost)];
  }

  void control(uint64_t penalty) {
    stalls.control += penalty;
    cycle += penalty;
  }
  void flush() { control(flush_); }
  void misaligned() {
    stalls.misaligned += misaligned_;
    cycle += misaligned_;
  }

  void data_access(uint64_t address, const Instruction& i) {
    if (dcache.access(address)) return;
    stalls.cache += dcache.miss;
    cycle += dcache.miss;
    ready[i.rd] += dcache.miss;
    ready[kSink] = 0;
  }
  void fetch(uint64_t pc) {
    if (icache.access(pc)) return;
    stalls.cache += icache.miss;
    cycle += icache.miss;
  }

  // A RoCC command that issued at cycle - 1 and was taken at `accepted`, having been offered at `offered`.
  void rocc_accepted(uint64_t offered, uint64_t accepted) {
    command_sent_ = std::max(offered, accepted);
    if (accepted <= offered) return;
    uint64_t taken = accepted + retry_;
    if (taken < offered + replay_) taken = offered + replay_;
    stalls.back_pressure += taken - offered;
    cycle += taken - offered;
  }

  // A fence that issued at cycle - 1 waits in decode for the accelerator, and for commands that are still on their way.
  void wait_for_fence(uint64_t until) {
    if (command_sent_ != 0) until = std::max(until, command_sent_ + 1);
    if (until <= cycle - 1) return;
    stalls.fence += until - (cycle - 1);
    cycle = until + 1;
  }

  uint64_t memory_stage, writeback_stage;
  BranchPredictor branches;
  TagCache icache, dcache;

 private:
  void delay(const Instruction& i, uint64_t until) {  // as if the last instruction had issued at `until`
    const uint64_t by = until - (cycle - 1);
    stalls.operand += by;
    cycle += by;
    ready[i.rd] += by;
    ready[kSink] = 0;
  }
  void occupy(const Instruction& i, uint64_t latency) {
    if (muldiv_free_ > cycle - 1) delay(i, muldiv_free_);
    muldiv_free_ = cycle - 1 + latency;
    ready[i.rd] = muldiv_free_;
    ready[kSink] = 0;
  }
  uint64_t multiply_steps(const Instruction& i, uint64_t a) const;
  uint64_t divide_steps(const Instruction& i, uint64_t a, uint64_t b) const;

  std::array<uint32_t, static_cast<int>(Cost::count)> latency_{};
  uint64_t muldiv_free_ = 0, fpu_free_ = 0, command_sent_ = 0;
  uint64_t overhead_, unroll_, flush_, replay_, retry_, misaligned_;
  bool multiply_early_, divide_early_;
};

}  // namespace strop::rocket
