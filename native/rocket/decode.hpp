// Instructions in the form in which they are executed.
#pragma once

#include <cstdint>

#include "opcodes.hpp"

namespace strop::rocket {

// Registers are numbered through: 0 to 31 integer, 32 to 63 float, 64 takes what is written to x0.
constexpr int kFloat = 32, kSink = 64, kRegisters = 65;

struct Instruction {
  Opcode opcode = Opcode::undecoded;
  uint8_t rd = kSink, rs1 = 0, rs2 = 0, rs3 = 0;  // numbered through; an absent source is 0
  uint8_t halfwords = 0;                          // 1 or 2
  uint8_t sub = 0;                                // FloatOp, AmoOp, funct3 of a CSR access, xd|xs1|xs2 of a RoCC command
  int32_t imm = 0;                                // the bits themselves for an illegal one
  Cost cost = Cost::alu;
  uint8_t rounding = 0;                           // rm field of a float operation; rs1 field of a CSR access
  bool wide = false;                              // double, or the 64-bit form
  bool links = false;                             // rd of a jump is a link register: a call
};
static_assert(sizeof(Instruction) == 16);

// The 32-bit form of a compressed instruction, 0 where it is illegal.
uint32_t expand_compressed(uint16_t bits);

// Decodes `bits`: 16 of them where the two lowest aren't both 1. Never fails: what isn't an instruction is `illegal`.
Instruction decode(uint32_t bits);

inline bool is_compressed(uint32_t bits) { return (bits & 3) != 3; }

}  // namespace strop::rocket
