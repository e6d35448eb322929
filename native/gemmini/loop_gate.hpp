// An accelerator without its loop unrollers: what a problem whose id lacks "+fsm" is judged on.
#pragma once

#include <string>
#include <utility>

#include "gemmini/command.hpp"
#include "rocket/coprocessor.hpp"

namespace strop::gemmini {

inline bool is_loop_command(uint8_t funct) {
  return (funct >= kLoopWs && funct <= kLoopWsStridesDC) || (funct >= kLoopConv && funct <= kLoopConv6) ||
         funct == kLoopWsSpadAB || funct == kLoopWsSpadC;
}

template <class Inner>
class LoopGate final : public rocket::Coprocessor {
 public:
  template <class... Arguments>
  explicit LoopGate(bool loops, Arguments&&... arguments)
      : loops_(loops), inner_(std::forward<Arguments>(arguments)...) {}

  rocket::Accepted issue(const rocket::RoccCommand& command) override {
    if (!loops_ && is_loop_command(command.funct))
      throw rocket::Trap(rocket::TrapKind::illegal_command, 0, 0,
                         "funct " + std::to_string(command.funct) +
                             " belongs to the loop unrollers, which this problem doesn't allow (its +fsm twin does)",
                         command.pc);
    return inner_.issue(command);
  }
  void advance(uint64_t cycle) override { inner_.advance(cycle); }
  bool busy() const override { return inner_.busy(); }
  uint64_t drain(uint64_t cycle) override { return inner_.drain(cycle); }

  Inner& inner() { return inner_; }

 private:
  bool loops_;
  Inner inner_;
};

}  // namespace strop::gemmini
