// Accesses that leave the fast path, atomics, and the accelerator.
#include <algorithm>
#include <cstring>

#include "cpu.hpp"

namespace strop::rocket {

bool Cpu::allowed(uint64_t address, uint64_t n, bool write, uint64_t pc) {
  const TrapKind kind = write ? TrapKind::store_access : TrapKind::load_access;
  const auto refused = [&](const char* why) {
    if (mtvec_ != 0) return divert(kind, address, pc, {});  // nobody will read a text
    return divert(kind, address, pc,
                  std::string(write ? "the core may not write " : "the core may not read ") +
                      memory_.describe(address, n) + why);
  };
  if (!memory_.contains(address, n)) return refused(": outside the memory");
  const uint64_t offset = address - memory_.base();
  const uint8_t first = memory_.flags()[offset / Memory::kPageBytes];
  const uint8_t last = memory_.flags()[(offset + n - 1) / Memory::kPageBytes];
  if (!(first & last & (write ? kWrite : kRead))) return refused(": its page forbids it");
  if (((first | last) & Memory::kWatched) && memory_.forbidden(address, n)) return refused(": it belongs to the accelerator");
  return true;
}

bool Cpu::load(uint64_t address, uint64_t n, uint64_t pc, uint64_t cycle, uint64_t& value) {
  if (busy_ && !advance(pc, cycle)) return false;
  if (misalignment_traps(address, n)) return divert(TrapKind::load_misaligned, address, pc, "a misaligned load");
  if (!allowed(address, n, false, pc)) return false;
  value = 0;
  std::memcpy(&value, memory_.host() + (address - memory_.base()), n);
  return true;
}

bool Cpu::store(uint64_t address, uint64_t n, uint64_t value, uint64_t pc, uint64_t cycle) {
  if (busy_ && !advance(pc, cycle)) return false;
  if (misalignment_traps(address, n)) return divert(TrapKind::store_misaligned, address, pc, "a misaligned store");
  if (!allowed(address, n, true, pc)) return false;
  const uint64_t offset = address - memory_.base();
  std::memcpy(memory_.host() + offset, &value, n);
  const uint8_t flags = memory_.flags()[offset / Memory::kPageBytes] |
                        memory_.flags()[(offset + n - 1) / Memory::kPageBytes];
  if (flags & (Memory::kWatched | Memory::kCode)) memory_.note_cpu_write(address, n);
  if (tohost_ != 0 && address < tohost_ + 8 && address + n > tohost_) return host_request(pc);
  return true;
}

bool Cpu::reserved(const Instruction& i, uint64_t pc, uint64_t cycle) {
  const uint64_t address = registers_[i.rs1], n = i.wide ? 8 : 4;
  const bool loads = i.opcode == Opcode::lr_w || i.opcode == Opcode::lr_d;
  if (address % n != 0)
    return divert(loads ? TrapKind::load_misaligned : TrapKind::store_misaligned, address, pc, "a misaligned atomic");
  uint64_t value = 0;
  const auto extended = [&] {
    return i.wide ? value : static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
  };
  if (loads) {
    if (!load(address, n, pc, cycle, value)) return false;
    reservation_ = address;
    registers_[i.rd] = reserved_value_ = extended();
    return true;
  }
  // The only hart: a reservation is lost when the word changed in between, or to another sc.
  bool holds = reservation_ == address;
  reservation_ = UINT64_MAX;
  if (holds) {
    if (!allowed(address, n, true, pc) || !load(address, n, pc, cycle, value)) return false;
    holds = extended() == reserved_value_;
    if (holds && !store(address, n, registers_[i.rs2], pc, cycle)) return false;
  }
  registers_[i.rd] = holds ? 0 : 1;
  return true;
}

bool Cpu::atomic(const Instruction& i, uint64_t pc, uint64_t cycle) {
  const uint64_t address = registers_[i.rs1], n = i.wide ? 8 : 4;
  if (address % n != 0) return divert(TrapKind::store_misaligned, address, pc, "a misaligned atomic");
  uint64_t old = 0;
  if (!allowed(address, n, true, pc) || !load(address, n, pc, cycle, old)) return false;
  uint64_t operand = registers_[i.rs2];
  if (!i.wide) {
    old = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(old)));
    operand = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(operand)));
  }
  // Sign-extended words keep their order as unsigned numbers, too.
  const int64_t signed_old = static_cast<int64_t>(old), signed_operand = static_cast<int64_t>(operand);
  uint64_t value = 0;
  switch (static_cast<AmoOp>(i.sub)) {
    case AmoOp::add: value = old + operand; break;
    case AmoOp::swap: value = operand; break;
    case AmoOp::xor_: value = old ^ operand; break;
    case AmoOp::or_: value = old | operand; break;
    case AmoOp::and_: value = old & operand; break;
    case AmoOp::min: value = static_cast<uint64_t>(std::min(signed_old, signed_operand)); break;
    case AmoOp::max: value = static_cast<uint64_t>(std::max(signed_old, signed_operand)); break;
    case AmoOp::minu: value = std::min(old, operand); break;
    case AmoOp::maxu: value = std::max(old, operand); break;
  }
  if (!store(address, n, value, pc, cycle)) return false;
  registers_[i.rd] = old;
  return true;
}

bool Cpu::advance(uint64_t pc, uint64_t cycle) {
  try {
    coprocessor_->advance(cycle);
  } catch (const Trap& trap) {
    stop_at(trap, pc);
    return false;
  }
  refresh_busy();
  return true;
}

bool Cpu::drain(uint64_t pc, uint64_t cycle, uint64_t& until) {
  try {
    until = coprocessor_->drain(cycle);
  } catch (const Trap& trap) {
    stop_at(trap, pc);
    return false;
  }
  refresh_busy();
  return true;
}

bool Cpu::rocc(const Instruction& i, uint64_t pc, uint64_t cycle, Accepted& accepted) {
  RoccCommand command;
  command.funct = static_cast<uint8_t>(i.imm);
  command.xd = i.sub & 4;
  command.xs1 = i.sub & 2;
  command.xs2 = i.sub & 1;
  command.rs1 = command.xs1 ? registers_[i.rs1] : 0;
  command.rs2 = command.xs2 ? registers_[i.rs2] : 0;
  command.pc = pc;
  command.cycle = cycle;
  try {
    accepted = coprocessor_->issue(command);
  } catch (const Trap& trap) {
    stop_at(trap, pc);
    return false;
  }
  ++result_.commands;
  for (const uint64_t word : {static_cast<uint64_t>(command.funct), command.rs1, command.rs2}) {
    result_.stream = (result_.stream ^ word) * 0x9e3779b97f4a7c15;
    result_.stream ^= result_.stream >> 29;
  }
  if (command.xd) registers_[i.rd] = accepted.result;
  refresh_busy();
  return true;
}

}  // namespace strop::rocket
