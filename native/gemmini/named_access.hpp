// Accesses to memory in a command's name: memory's own traps don't know whose access it was.
#pragma once

#include "gemmini/command.hpp"
#include "rocket/trap.hpp"

namespace strop::gemmini {

template <class Access>
void named(const Command& command, Access access) {
  try {
    access();
  } catch (const rocket::Trap& trap) {
    if (trap.kind != rocket::TrapKind::dma_read_access && trap.kind != rocket::TrapKind::dma_write_access) throw;
    throw rocket::Trap(trap.kind, trap.address, trap.size, describe(command) + ": " + trap.text, command.origin.pc);
  }
}

}  // namespace strop::gemmini
