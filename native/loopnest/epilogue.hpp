// The fused tail of an output tile: evaluates the epilogue's postfix program in registers, before the store.
#pragma once

#include <functional>
#include <vector>

#include "spec.hpp"
#include "vector_unit.hpp"

namespace strop {

#if STROP_X86

// How many vector registers the program needs besides the one that holds x (deepest stack plus temporaries).
int epilogue_registers(const std::vector<EpilogueOp>& program, Isa isa);

// Emits code that replaces register `x` by the program's value. `free` are registers it may clobber
// (at least epilogue_registers of them). `load_operand(dst, operand)` emits the load of an epilogue operand's
// elements that belong to this vector. Mask k1 and the AVX2 mask register are not touched; AVX-512 code may
// clobber k2 and k3. May clobber rax.
void emit_epilogue(VectorUnit& unit, const std::vector<EpilogueOp>& program, int x, const std::vector<int>& free,
                   const std::function<void(int dst, int operand)>& load_operand);
#endif

inline bool takes_two(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::min || op == Op::max;
}

// One operation on numbers; `b` is read by those that take two.
double apply_epilogue(Op op, double a, double b);

// The same program on one scalar, for the portable path.
double run_epilogue(const std::vector<EpilogueOp>& program, Scalar type, double x, const double* operands);

}  // namespace strop
