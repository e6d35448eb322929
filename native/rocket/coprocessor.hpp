// The seam between the core and an accelerator on custom-3 (RoCC).
#pragma once

#include <cstdint>

#include "trap.hpp"

namespace strop::rocket {

struct RoccCommand {
  uint8_t funct = 0;
  bool xd = false, xs1 = false, xs2 = false;
  uint64_t rs1 = 0, rs2 = 0;  // the registers' values, 0 where xs1 or xs2 is clear
  uint64_t pc = 0;            // of the instruction
  uint64_t cycle = 0;         // the core's time at which the command is offered
};

struct Accepted {
  uint64_t cycle = 0;         // at which the command was taken, at least that at which it was offered
  uint64_t result = 0;        // for xd: what rd receives
  uint64_t result_cycle = 0;  // for xd: when; anything at or before `cycle` means at once
};

// Without timing the core passes 0 as every cycle, calls `advance` only while busy() and ignores the cycles returned.
class Coprocessor {
 public:
  virtual ~Coprocessor() = default;

  // Offers a command. A cycle later than offered is back-pressure, which the core counts as stall. A refused command is
  // thrown as Trap{illegal_command, ...} with a text; a bad address of a DMA as the Trap that memory threw.
  virtual Accepted issue(const RoccCommand& command) = 0;

  // Brings the accelerator's own time up to `cycle`: all that it does to memory before then is done. Called before each
  // load, store, atomic and fence of the core while busy(). May throw Trap.
  virtual void advance(uint64_t cycle) = 0;

  virtual bool busy() const = 0;

  // Runs until nothing is in flight; returns that cycle, at least `cycle`. What `fence` waits for. May throw Trap.
  virtual uint64_t drain(uint64_t cycle) = 0;
};

}  // namespace strop::rocket
