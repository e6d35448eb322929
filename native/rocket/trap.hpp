// What stops a program, or is delivered to its own trap handler.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace strop::rocket {

enum class TrapKind : uint8_t {
  instruction_misaligned,
  instruction_access,
  illegal_instruction,
  breakpoint,
  load_misaligned,
  load_access,
  store_misaligned,
  store_access,
  environment_call,
  dma_read_access,    // an accelerator read outside what it may read
  dma_write_access,   // an accelerator write outside what it may write
  illegal_command,    // the accelerator refuses a command
};

const char* trap_name(TrapKind kind);

// Thrown by memory's DMA and by the coprocessor. `pc` is 0 where the thrower doesn't know it; the CPU fills it in with
// the instruction it was executing.
struct Trap {
  TrapKind kind;
  uint64_t address = 0;  // of the access; the instruction's bits for an illegal instruction
  uint64_t size = 0;     // bytes of the access, 0 where there is none
  std::string text;      // one sentence for people
  uint64_t pc = 0;

  Trap(TrapKind kind, uint64_t address, uint64_t size, std::string text, uint64_t pc = 0)
      : kind(kind), address(address), size(size), text(std::move(text)), pc(pc) {}
};

}  // namespace strop::rocket
