// The transcendental functions of epilogues, emitted on whole vectors.
#pragma once

#if STROP_X86

#include <vector>

#include "spec.hpp"
#include "vector_unit.hpp"

namespace strop {

// Registers that emit_function clobbers besides the argument's; 0 for an operation that is no function of this file.
int function_temporaries(Op op);

// Replaces register `x` by exp, tanh, sigmoid or gelu of it. Errors: a few units in the last place where the result is
// a normal number, below the smallest normal number elsewhere (native/tests/epilogue_test.cpp holds the bounds).
// NaN gives NaN, infinities their limits.
void emit_function(VectorUnit& unit, Op op, int x, const std::vector<int>& temporaries);

}  // namespace strop

#endif  // STROP_X86
