#include "trap.hpp"

namespace strop::rocket {

const char* trap_name(TrapKind kind) {
  switch (kind) {
    case TrapKind::instruction_misaligned: return "instruction-misaligned";
    case TrapKind::instruction_access: return "instruction-access";
    case TrapKind::illegal_instruction: return "illegal-instruction";
    case TrapKind::breakpoint: return "breakpoint";
    case TrapKind::load_misaligned: return "load-misaligned";
    case TrapKind::load_access: return "load-access";
    case TrapKind::store_misaligned: return "store-misaligned";
    case TrapKind::store_access: return "store-access";
    case TrapKind::environment_call: return "environment-call";
    case TrapKind::dma_read_access: return "dma-read-access";
    case TrapKind::dma_write_access: return "dma-write-access";
    case TrapKind::illegal_command: return "illegal-command";
  }
  return "unknown";
}

}  // namespace strop::rocket
