// What the code generator is asked for: a loop nest over strided tensors, with every choice already made.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace strop {

enum class Isa { portable = 0, avx2 = 1, avx512 = 2 };
enum class Scalar { f32 = 0, f64 = 1 };
enum class Reduce { add = 0, max = 1, min = 2 };   // how terms are gathered into an output element
enum class Combine { mul = 0, add = 1 };           // how the two operands make a term

inline int scalar_bytes(Scalar type) { return type == Scalar::f32 ? 4 : 8; }

// One tensor: bytes between neighbours along each axis of the contraction; 0 where the axis does not index it.
struct Tensor {
  std::vector<int64_t> stride;
};

// Which tensor a loop packs or prefetches: 0 = first operand, 1 = second operand, 2 = output.
struct Prefetch {
  int tensor;
  int64_t distance;  // iterations ahead
};

// One loop, outermost first in Spec::loops. `step` is the extent of `axis` that one iteration covers.
struct Loop {
  int axis = 0;
  int64_t step = 1;
  bool balanced = false;              // even out the iterations' extents instead of leaving one short tail
  std::vector<int64_t> pieces;        // explicit extents instead of a uniform step (a cover)
  int partner = -1;                   // with pieces: the axis whose next inner loop takes its step from the piece ...
  std::vector<int64_t> partner_steps; // ... and its step in each piece
  int unroll = 1;
  bool parallel = false;
  std::vector<int> pack;
  std::vector<Prefetch> prefetch;
};

// The epilogue in postfix order; see epilogue.cpp.
enum class Op { x, operand, number, add, sub, mul, div, min, max, neg, relu, gelu, tanh, exp, sigmoid };
struct EpilogueOp {
  Op op;
  int operand = 0;
  double number = 0;
};

struct Spec {
  Isa isa = Isa::portable;
  Scalar type = Scalar::f32;
  Reduce reduce = Reduce::add;
  Combine combine = Combine::mul;
  bool accumulate = false;             // C = C (+) result instead of C = result
  int accumulators = 1;                // independent partial sums of each output element
  std::vector<int64_t> sizes;          // extent of each axis, all >= 1
  std::vector<char> output_axis;       // 1 where the axis indexes the output
  std::vector<Tensor> inputs;          // one or two
  Tensor output;
  std::vector<Tensor> extras;          // operands of the epilogue
  std::vector<Loop> loops;
  std::vector<EpilogueOp> epilogue;

  bool is_output(int axis) const { return output_axis[axis] != 0; }
  bool has_reduction() const {
    for (char o : output_axis)
      if (!o) return true;
    return false;
  }
};

// The nest cannot be compiled as asked; the text is shown to the user.
struct SpecError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace strop
