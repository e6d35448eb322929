// Decoding of the F and D extensions' computations (opcodes MADD to NMADD and OP-FP).
#include "decode.hpp"

namespace strop::rocket {
namespace {


Cost arithmetic_cost(bool wide) { return wide ? Cost::float_double : Cost::float_single; }
Cost divide_cost(bool wide) { return wide ? Cost::float_divide_double : Cost::float_divide_single; }

Instruction illegal() {
  Instruction instruction;
  instruction.opcode = Opcode::illegal;
  instruction.cost = Cost::system;
  return instruction;
}

}  // namespace

Instruction decode_float(uint32_t bits) {
  const auto at = [bits](int high, int low) { return bits >> low & ((2u << (high - low)) - 1); };
  const uint32_t format = at(26, 25), funct3 = at(14, 12), rs2 = at(24, 20), funct5 = at(31, 27);
  if (format > 1) return illegal();
  const bool wide = format == 1;
  Instruction instruction;
  instruction.opcode = Opcode::float_op;
  instruction.wide = wide;
  instruction.rounding = static_cast<uint8_t>(funct3);
  instruction.rd = static_cast<uint8_t>(kFloat + at(11, 7));
  instruction.rs1 = static_cast<uint8_t>(kFloat + at(19, 15));
  instruction.rs2 = static_cast<uint8_t>(kFloat + rs2);
  const auto set = [&](FloatOp op, Cost cost) {
    instruction.sub = static_cast<uint8_t>(op);
    instruction.cost = cost;
  };
  const auto to_integer = [&] { instruction.rd = at(11, 7) == 0 ? kSink : static_cast<uint8_t>(at(11, 7)); };
  const auto from_integer = [&] { instruction.rs1 = static_cast<uint8_t>(at(19, 15)); };
  bool rounds = true, unary = false;

  if ((bits & 0x7f) != 0x53) {  // MADD 0x43, MSUB 0x47, NMSUB 0x4b, NMADD 0x4f
    set(static_cast<FloatOp>(static_cast<int>(FloatOp::fmadd) + ((bits >> 2 & 31) - 16)), arithmetic_cost(wide));
    instruction.rs3 = static_cast<uint8_t>(kFloat + funct5);
  } else {
    switch (funct5) {
      case 0x00: set(FloatOp::add, arithmetic_cost(wide)); break;
      case 0x01: set(FloatOp::sub, arithmetic_cost(wide)); break;
      case 0x02: set(FloatOp::mul, arithmetic_cost(wide)); break;
      case 0x03: set(FloatOp::div, divide_cost(wide)); break;
      case 0x0b:
        if (rs2 != 0) return illegal();
        set(FloatOp::sqrt, divide_cost(wide)), unary = true;
        break;
      case 0x04:
        if (funct3 > 2) return illegal();
        set(static_cast<FloatOp>(static_cast<uint32_t>(FloatOp::sgnj) + funct3), Cost::float_move), rounds = false;
        break;
      case 0x05:
        if (funct3 > 1) return illegal();
        set(funct3 == 0 ? FloatOp::min : FloatOp::max, Cost::float_move), rounds = false;
        break;
      case 0x14:
        if (funct3 > 2) return illegal();
        set(funct3 == 2 ? FloatOp::eq : funct3 == 1 ? FloatOp::lt : FloatOp::le, Cost::float_to_int), rounds = false;
        to_integer();
        break;
      case 0x08:  // fcvt.s.d and fcvt.d.s: rs2 names the source format
        if (rs2 != (wide ? 0u : 1u)) return illegal();
        set(FloatOp::convert, Cost::float_move), unary = true;
        break;
      case 0x18:
        if (rs2 > 3) return illegal();
        set(static_cast<FloatOp>(static_cast<uint32_t>(FloatOp::to_w) + rs2), Cost::float_to_int), unary = true;
        to_integer();
        break;
      case 0x1a:
        if (rs2 > 3) return illegal();
        set(static_cast<FloatOp>(static_cast<uint32_t>(FloatOp::from_w) + rs2), Cost::int_to_float), unary = true;
        from_integer();
        break;
      case 0x1c:
        if (rs2 != 0 || funct3 > 1) return illegal();
        set(funct3 == 0 ? FloatOp::move_to_int : FloatOp::classify, Cost::float_to_int), rounds = false, unary = true;
        to_integer();
        break;
      case 0x1e:
        if (rs2 != 0 || funct3 != 0) return illegal();
        set(FloatOp::move_from_int, Cost::int_to_float), rounds = false, unary = true;
        from_integer();
        break;
      default: return illegal();
    }
  }
  if (unary) instruction.rs2 = 0;
  if (rounds && (funct3 == 5 || funct3 == 6)) return illegal();
  if (!rounds) instruction.rounding = 0;
  return instruction;
}

}  // namespace strop::rocket
