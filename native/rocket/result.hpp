// How a run ended, and what it took.
#pragma once

#include <cstdint>
#include <string>

#include "timing.hpp"
#include "trap.hpp"

namespace strop::rocket {

struct Limits {
  uint64_t instructions = 1'000'000'000;
  uint64_t cycles = UINT64_MAX;
  uint64_t output_bytes = 1 << 20;
};

enum class Outcome : uint8_t { returned, exited, trapped, limited };

struct Result {
  Outcome outcome = Outcome::limited;
  int64_t code = 0;                                  // exited: the code; returned: a0
  TrapKind trap = TrapKind::illegal_instruction;     // trapped
  uint64_t pc = 0;                                   // at the end; trapped: of the instruction
  uint64_t address = 0;                              // trapped: of the access, or the instruction's bits
  std::string text;                                  // trapped: one sentence
  const char* limit = "";                            // limited: "instructions", "cycles" or "output"
  uint64_t instructions = 0;                         // executed, those that trapped included
  uint64_t cycles = 0;                               // when the last instruction had issued; instructions without timing
  uint64_t idle_cycle = 0;                           // when the accelerator was idle, at least `cycles`
  uint64_t commands = 0;                             // RoCC commands accepted
  uint64_t stream = 0;                               // a hash of them: functions and operands, in their order
  Stalls stalls;
  std::string output;
};

// What one instruction (by its address) did in a run.
struct PcCount {
  uint64_t instructions = 0, cycles = 0, back_pressure = 0, fence = 0;  // cycles include the two last
};

}  // namespace strop::rocket
