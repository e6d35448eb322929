#include "decode.hpp"

namespace strop::rocket {
namespace {

constexpr Cost kCosts[] = {
#define X(name, cost) Cost::cost,
    STROP_ROCKET_OPCODES(X)
#undef X
};

// The fields of one encoding. Members named after the manual's.
struct Fields {
  uint32_t bits;
  uint32_t at(int high, int low) const { return bits >> low & ((2u << (high - low)) - 1); }
  uint8_t rd() const { return static_cast<uint8_t>(at(11, 7)); }
  uint8_t rs1() const { return static_cast<uint8_t>(at(19, 15)); }
  uint8_t rs2() const { return static_cast<uint8_t>(at(24, 20)); }
  uint8_t rs3() const { return static_cast<uint8_t>(at(31, 27)); }
  uint32_t funct3() const { return at(14, 12); }
  uint32_t funct7() const { return at(31, 25); }
  int32_t i() const { return static_cast<int32_t>(bits) >> 20; }
  int32_t s() const { return static_cast<int32_t>(bits & 0xfe000000) >> 20 | rd(); }
  int32_t u() const { return static_cast<int32_t>(bits & 0xfffff000); }
  int32_t b() const {
    return static_cast<int32_t>(bits & 0x80000000) >> 19 | static_cast<int32_t>(at(7, 7) << 11 | at(30, 25) << 5 |
                                                                              at(11, 8) << 1);
  }
  int32_t j() const {
    return static_cast<int32_t>(bits & 0x80000000) >> 11 | static_cast<int32_t>(at(19, 12) << 12 | at(20, 20) << 11 |
                                                                               at(30, 21) << 1);
  }
};

uint8_t integer_destination(uint8_t rd) { return rd == 0 ? kSink : rd; }
uint8_t floating(uint8_t r) { return static_cast<uint8_t>(r + kFloat); }

Instruction made(Opcode opcode) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.cost = kCosts[static_cast<int>(opcode)];
  return instruction;
}

Instruction illegal(Fields f) {
  Instruction instruction = made(Opcode::illegal);
  instruction.imm = static_cast<int32_t>(f.bits);
  return instruction;
}

Instruction with_immediate(Opcode opcode, Fields f, int32_t imm) {
  Instruction instruction = made(opcode);
  instruction.rd = integer_destination(f.rd());
  instruction.rs1 = f.rs1();
  instruction.imm = imm;
  return instruction;
}

Instruction register_register(Opcode opcode, Fields f) {
  Instruction instruction = with_immediate(opcode, f, 0);
  instruction.rs2 = f.rs2();
  return instruction;
}

Instruction two_sources(Opcode opcode, Fields f, int32_t imm) {  // stores and branches
  Instruction instruction = made(opcode);
  instruction.rs1 = f.rs1();
  instruction.rs2 = f.rs2();
  instruction.imm = imm;
  return instruction;
}

Instruction op_imm(Fields f) {
  static constexpr Opcode kPlain[] = {Opcode::addi, Opcode::slli, Opcode::slti, Opcode::sltiu,
                                      Opcode::xori, Opcode::srli, Opcode::ori,  Opcode::andi};
  const uint32_t funct6 = f.at(31, 26), funct3 = f.funct3();
  if (funct3 == 1) return funct6 == 0 ? with_immediate(Opcode::slli, f, f.i() & 63) : illegal(f);
  if (funct3 == 5) {
    if (funct6 == 0) return with_immediate(Opcode::srli, f, f.i() & 63);
    return funct6 == 0x10 ? with_immediate(Opcode::srai, f, f.i() & 63) : illegal(f);
  }
  if (funct3 == 0 && f.rs1() == 0) return with_immediate(Opcode::load_immediate, f, f.i());
  return with_immediate(kPlain[funct3], f, f.i());
}

Instruction op_imm32(Fields f) {
  switch (f.funct3()) {
    case 0: return with_immediate(Opcode::addiw, f, f.i());
    case 1: return f.funct7() == 0 ? with_immediate(Opcode::slliw, f, f.i() & 31) : illegal(f);
    case 5:
      if (f.funct7() == 0) return with_immediate(Opcode::srliw, f, f.i() & 31);
      return f.funct7() == 0x20 ? with_immediate(Opcode::sraiw, f, f.i() & 31) : illegal(f);
    default: return illegal(f);
  }
}

Instruction op(Fields f) {
  static constexpr Opcode kPlain[] = {Opcode::add,  Opcode::sll, Opcode::slt, Opcode::sltu,
                                      Opcode::xor_, Opcode::srl, Opcode::or_, Opcode::and_};
  static constexpr Opcode kMultiply[] = {Opcode::mul, Opcode::mulh, Opcode::mulhsu, Opcode::mulhu,
                                         Opcode::div, Opcode::divu, Opcode::rem,    Opcode::remu};
  switch (f.funct7()) {
    case 0: return register_register(kPlain[f.funct3()], f);
    case 1: return register_register(kMultiply[f.funct3()], f);
    case 0x20:
      if (f.funct3() == 0) return register_register(Opcode::sub, f);
      return f.funct3() == 5 ? register_register(Opcode::sra, f) : illegal(f);
    default: return illegal(f);
  }
}

Instruction op32(Fields f) {
  const uint32_t key = f.funct7() << 3 | f.funct3();
  switch (key) {
    case 0: return register_register(Opcode::addw, f);
    case 1: return register_register(Opcode::sllw, f);
    case 5: return register_register(Opcode::srlw, f);
    case 0x20 << 3: return register_register(Opcode::subw, f);
    case 0x20 << 3 | 5: return register_register(Opcode::sraw, f);
    case 1 << 3: return register_register(Opcode::mulw, f);
    case 1 << 3 | 4: return register_register(Opcode::divw, f);
    case 1 << 3 | 5: return register_register(Opcode::divuw, f);
    case 1 << 3 | 6: return register_register(Opcode::remw, f);
    case 1 << 3 | 7: return register_register(Opcode::remuw, f);
    default: return illegal(f);
  }
}

Instruction jump(Opcode opcode, Fields f, int32_t imm, uint8_t rs1) {
  Instruction instruction = with_immediate(opcode, f, imm);
  instruction.rs1 = rs1;
  instruction.links = f.rd() == 1 || f.rd() == 5;
  return instruction;
}

Instruction branch(Fields f) {
  static constexpr Opcode kBranches[] = {Opcode::beq, Opcode::bne,  Opcode::illegal, Opcode::illegal,
                                         Opcode::blt, Opcode::bge,  Opcode::bltu,    Opcode::bgeu};
  const Opcode opcode = kBranches[f.funct3()];
  return opcode == Opcode::illegal ? illegal(f) : two_sources(opcode, f, f.b());
}

Instruction load(Fields f) {
  static constexpr Opcode kLoads[] = {Opcode::lb,  Opcode::lh,  Opcode::lw,  Opcode::ld,
                                      Opcode::lbu, Opcode::lhu, Opcode::lwu, Opcode::illegal};
  return f.funct3() == 7 ? illegal(f) : with_immediate(kLoads[f.funct3()], f, f.i());
}

Instruction store(Fields f) {
  static constexpr Opcode kStores[] = {Opcode::sb, Opcode::sh, Opcode::sw, Opcode::sd};
  return f.funct3() > 3 ? illegal(f) : two_sources(kStores[f.funct3()], f, f.s());
}

Instruction float_memory(Fields f, bool stores) {
  if (f.funct3() != 2 && f.funct3() != 3) return illegal(f);
  const bool wide = f.funct3() == 3;
  Instruction instruction = stores ? two_sources(wide ? Opcode::fsd : Opcode::fsw, f, f.s())
                                   : with_immediate(wide ? Opcode::fld : Opcode::flw, f, f.i());
  if (stores) {
    instruction.rs2 = floating(f.rs2());
  } else {
    instruction.rd = floating(f.rd());
  }
  return instruction;
}

Instruction atomic(Fields f) {
  if (f.funct3() != 2 && f.funct3() != 3) return illegal(f);
  const bool wide = f.funct3() == 3;
  const uint32_t funct5 = f.at(31, 27);
  Opcode opcode = wide ? Opcode::amo_d : Opcode::amo_w;
  switch (funct5) {
    case 2:
      if (f.rs2() != 0) return illegal(f);
      opcode = wide ? Opcode::lr_d : Opcode::lr_w;
      break;
    case 3: opcode = wide ? Opcode::sc_d : Opcode::sc_w; break;
    case 0: case 1: case 4: case 8: case 12: case 16: case 20: case 24: case 28: break;
    default: return illegal(f);
  }
  Instruction instruction = register_register(opcode, f);
  instruction.sub = static_cast<uint8_t>(funct5);
  instruction.wide = wide;
  return instruction;
}

Instruction system(Fields f) {
  if (f.funct3() == 4) return illegal(f);
  if (f.funct3() != 0) {
    Instruction instruction = with_immediate(Opcode::csr, f, f.i() & 0xfff);
    instruction.sub = static_cast<uint8_t>(f.funct3());
    instruction.rounding = f.rs1();  // the field itself: the immediate, or whether there is a register to write from
    if (f.funct3() >= 4) instruction.rs1 = 0;
    return instruction;
  }
  switch (f.bits) {
    case 0x00000073: return made(Opcode::ecall);
    case 0x00100073: return made(Opcode::ebreak);
    case 0x30200073: return made(Opcode::mret);
    case 0x10500073: return made(Opcode::wfi);
    default: return illegal(f);
  }
}

Instruction fence(Fields f) {
  if (f.funct3() > 1) return illegal(f);
  return made(f.funct3() == 1 ? Opcode::fence_i : Opcode::fence);
}

Instruction rocc(Fields f) {
  Instruction instruction = register_register(Opcode::rocc, f);
  instruction.sub = static_cast<uint8_t>(f.funct3());  // xd 4, xs1 2, xs2 1
  instruction.imm = static_cast<int32_t>(f.funct7());
  if (!(f.funct3() & 4)) instruction.rd = kSink;
  if (!(f.funct3() & 2)) instruction.rs1 = 0;
  if (!(f.funct3() & 1)) instruction.rs2 = 0;
  return instruction;
}

}  // namespace

Instruction decode_float(uint32_t bits);  // decode_float.cpp; `illegal` where it isn't one

Instruction decode(uint32_t bits) {
  const bool compressed = is_compressed(bits);
  if (compressed) {
    const uint32_t expanded = expand_compressed(static_cast<uint16_t>(bits));
    Instruction instruction = expanded == 0 ? illegal({bits & 0xffff}) : decode(expanded);
    if (instruction.opcode == Opcode::illegal) instruction.imm = static_cast<int32_t>(bits & 0xffff);
    instruction.halfwords = 1;
    return instruction;
  }
  const Fields f{bits};
  Instruction instruction;
  switch (bits & 0x7f) {
    case 0x03: instruction = load(f); break;
    case 0x07: instruction = float_memory(f, false); break;
    case 0x0f: instruction = fence(f); break;
    case 0x13: instruction = op_imm(f); break;
    case 0x17: instruction = with_immediate(Opcode::auipc, f, f.u()); instruction.rs1 = 0; break;
    case 0x1b: instruction = op_imm32(f); break;
    case 0x23: instruction = store(f); break;
    case 0x27: instruction = float_memory(f, true); break;
    case 0x2f: instruction = atomic(f); break;
    case 0x33: instruction = op(f); break;
    case 0x37: instruction = with_immediate(Opcode::load_immediate, f, f.u()); instruction.rs1 = 0; break;
    case 0x3b: instruction = op32(f); break;
    case 0x43: case 0x47: case 0x4b: case 0x4f: case 0x53: instruction = decode_float(bits); break;
    case 0x63: instruction = branch(f); break;
    case 0x67: instruction = f.funct3() == 0 ? jump(Opcode::jalr, f, f.i(), f.rs1()) : illegal(f); break;
    case 0x6f: instruction = jump(Opcode::jal, f, f.j(), 0); break;
    case 0x73: instruction = system(f); break;
    case 0x7b: instruction = rocc(f); break;
    default: instruction = illegal(f); break;
  }
  if (instruction.opcode == Opcode::illegal) instruction.imm = static_cast<int32_t>(bits);
  instruction.halfwords = 2;
  return instruction;
}

}  // namespace strop::rocket
