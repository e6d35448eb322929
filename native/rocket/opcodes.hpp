// Every operation the core executes, with what it costs the pipeline.
#pragma once

#include <cstdint>

namespace strop::rocket {

// What an instruction costs: the latency of each class is a parameter (timing.hpp).
enum class Cost : uint8_t {
  alu,         // 1: bypassed from the execute stage
  jump,        // the link of jal and jalr
  branch,
  load_word,   // lw, lwu, ld
  load_byte,   // lb, lh and their unsigned forms, lr, sc, atomics
  load_float,
  store,
  multiply,
  divide,
  csr,
  float_to_int,   // compares, classes, conversions and moves to the integer registers
  int_to_float,
  float_move,     // sign injection, min, max, float to float
  float_single,   // add, sub, mul, fma
  float_double,
  float_divide_single,
  float_divide_double,
  fence,
  rocc,
  system,
  count,
};

// X(name, cost): operations whose bodies stand in execute_integer.inc, execute_memory.inc and execute_system.inc.
#define STROP_ROCKET_INTEGER(X)                                                                                        \
  X(load_immediate, alu) X(auipc, alu) X(addi, alu) X(slti, alu) X(sltiu, alu) X(xori, alu) X(ori, alu) X(andi, alu)    \
  X(slli, alu) X(srli, alu) X(srai, alu) X(add, alu) X(sub, alu) X(sll, alu) X(slt, alu) X(sltu, alu) X(xor_, alu)      \
  X(srl, alu) X(sra, alu) X(or_, alu) X(and_, alu) X(addiw, alu) X(slliw, alu) X(srliw, alu) X(sraiw, alu) X(addw, alu) \
  X(subw, alu) X(sllw, alu) X(srlw, alu) X(sraw, alu) X(mul, multiply) X(mulh, multiply) X(mulhsu, multiply)            \
  X(mulhu, multiply) X(mulw, multiply) X(div, divide) X(divu, divide) X(rem, divide) X(remu, divide) X(divw, divide)    \
  X(divuw, divide) X(remw, divide) X(remuw, divide) X(jal, jump) X(jalr, jump) X(beq, branch) X(bne, branch)            \
  X(blt, branch) X(bge, branch) X(bltu, branch) X(bgeu, branch)

#define STROP_ROCKET_MEMORY(X)                                                                                         \
  X(lb, load_byte) X(lh, load_byte) X(lw, load_word) X(ld, load_word) X(lbu, load_byte) X(lhu, load_byte)               \
  X(lwu, load_word) X(sb, store) X(sh, store) X(sw, store) X(sd, store) X(flw, load_float) X(fld, load_float)           \
  X(fsw, store) X(fsd, store) X(lr_w, load_byte) X(lr_d, load_byte) X(sc_w, load_byte) X(sc_d, load_byte)               \
  X(amo_w, load_byte) X(amo_d, load_byte)

#define STROP_ROCKET_SYSTEM(X)                                                                                         \
  X(undecoded, alu) X(page_end, alu) X(illegal, system) X(fence, fence) X(fence_i, fence) X(ecall, system)              \
  X(ebreak, system) X(mret, system) X(wfi, system) X(csr, csr) X(rocc, rocc) X(float_op, alu)

#define STROP_ROCKET_OPCODES(X) STROP_ROCKET_SYSTEM(X) STROP_ROCKET_INTEGER(X) STROP_ROCKET_MEMORY(X)

enum class Opcode : uint16_t {
#define X(name, cost) name,
  STROP_ROCKET_OPCODES(X)
#undef X
      count,
};

// What an instruction of Opcode::float_op does, in `Instruction::sub`; `wide` says double.
enum class FloatOp : uint8_t {
  fmadd, fmsub, fnmsub, fnmadd, add, sub, mul, div, sqrt, sgnj, sgnjn, sgnjx, min, max, eq, lt, le, classify,
  to_w, to_wu, to_l, to_lu, from_w, from_wu, from_l, from_lu, move_to_int, move_from_int, convert,  // s<->d
};

// The functions of an atomic instruction, in `Instruction::sub`: funct5 of its encoding.
enum class AmoOp : uint8_t {
  add = 0, swap = 1, xor_ = 4, or_ = 8, and_ = 12, min = 16, max = 20, minu = 24, maxu = 28,
};

}  // namespace strop::rocket
