// Control and status registers: those that start-up code and libraries of bare-metal programs touch.
#include "cpu.hpp"

namespace strop::rocket {
namespace {

// misa: 64 bits, extensions A C D F I M X.
constexpr uint64_t kMisa = uint64_t{2} << 62 | 1 << 0 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 8 | 1 << 12 | 1 << 23;
constexpr uint64_t kMie = 1 << 3, kMpie = 1 << 7, kMpp = 3 << 11, kFs = 3 << 13, kXs = 3 << 15, kSd = uint64_t{1} << 63;

bool between(uint32_t number, uint32_t first, uint32_t last) { return number >= first && number <= last; }

// Reads as zero and ignores writes: counters and events that don't count, protection, delegation, translation, triggers.
bool inert(uint32_t number) {
  return between(number, 0xb03, 0xb1f) || between(number, 0xc03, 0xc1f) || between(number, 0x323, 0x33f) ||
         between(number, 0x3a0, 0x3ef) || between(number, 0x7a0, 0x7a3) || number == 0x302 || number == 0x303 ||
         number == 0x306 || number == 0x320 || number == 0x344 || number == 0x180 || between(number, 0xf11, 0xf11) ||
         between(number, 0xf13, 0xf15);
}

}  // namespace

bool Cpu::csr(const Instruction& i, uint64_t retired, uint64_t cycle) {
  const uint32_t number = static_cast<uint32_t>(i.imm);
  const uint32_t function = i.sub & 3;
  const bool writes = function == 1 || i.rounding != 0;
  if (writes && number >> 10 == 3) return false;
  const uint64_t operand = i.sub & 4 ? i.rounding : registers_[i.rs1];
  uint64_t old = 0;
  if (!read_csr(number, retired, cycle, old)) return false;
  if (writes) {
    const uint64_t value = function == 1 ? operand : function == 2 ? old | operand : old & ~operand;
    if (!write_csr(number, value, retired, cycle)) return false;
  }
  registers_[i.rd] = old;
  return true;
}

bool Cpu::read_csr(uint32_t number, uint64_t retired, uint64_t cycle, uint64_t& value) const {
  switch (number) {
    case 0x001: value = fflags_; return float_on_;
    case 0x002: value = frm_; return float_on_;
    case 0x003: value = static_cast<uint64_t>(frm_ << 5 | fflags_); return float_on_;
    case 0x300: {
      const uint64_t extension = coprocessor_ != nullptr ? kXs : 0;  // hardwired, as in Rocket with an accelerator
      value = mstatus_ | kMpp | (float_on_ ? kFs : 0) | extension | (float_on_ || extension != 0 ? kSd : 0);
      return true;
    }
    case 0x301: value = kMisa; return true;
    case 0x304: value = mie_; return true;
    case 0x305: value = mtvec_; return true;
    case 0x340: value = mscratch_; return true;
    case 0x341: value = mepc_; return true;
    case 0x342: value = mcause_; return true;
    case 0x343: value = mtval_; return true;
    case 0xb00: case 0xc00: value = cycle + counter_offsets_[0]; return true;
    case 0xc01: value = cycle; return true;
    case 0xb02: case 0xc02: value = retired + counter_offsets_[1]; return true;
    case 0xf12: value = 1; return true;  // marchid of Rocket
    default: value = 0; return inert(number);
  }
}

bool Cpu::write_csr(uint32_t number, uint64_t value, uint64_t retired, uint64_t cycle) {
  switch (number) {
    case 0x001: fflags_ = value & 31; return true;
    case 0x002: frm_ = value & 7; return true;
    case 0x003: fflags_ = value & 31, frm_ = value >> 5 & 7; return true;
    case 0x300:
      mstatus_ = value & (kMie | kMpie);
      float_on_ = (value & kFs) != 0;
      return true;
    case 0x304: mie_ = value; return true;
    case 0x305: mtvec_ = value & ~uint64_t{2}; return true;
    case 0x340: mscratch_ = value; return true;
    case 0x341: mepc_ = value & ~uint64_t{1}; return true;
    case 0x342: mcause_ = value; return true;
    case 0x343: mtval_ = value; return true;
    // The clock itself can't be set: a write moves what the program reads, and nothing else.
    case 0xb00: counter_offsets_[0] = value - cycle; return true;
    case 0xb02: counter_offsets_[1] = value - (retired + 1); return true;  // the write itself isn't counted
    default: return true;
  }
}

}  // namespace strop::rocket
