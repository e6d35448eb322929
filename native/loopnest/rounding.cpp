// The rules of src/strop/loops/rounding.py and reference.py, for the worker, which has no NumPy.
#include "rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "epilogue.hpp"

namespace strop {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFunctionUlps = 8;  // which a good vector polynomial keeps with room

struct Limits {
  double eps, tiny, largest, subnormal;
};

template <typename T>
constexpr Limits limits_of() {
  using L = std::numeric_limits<T>;
  return {L::epsilon(), L::min(), L::max(), L::denorm_min()};
}

Limits limits(Scalar type) { return type == Scalar::f32 ? limits_of<float>() : limits_of<double>(); }

double added_error(Op op, const Bounded& a, const Bounded& b, double value, const Limits& in) {
  const double size = std::fabs(value);
  switch (op) {
    case Op::add:
    case Op::sub:
      return a.error + b.error + in.eps * size;
    case Op::mul:
      return std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error + in.eps * size + in.tiny;
    case Op::div: {
      const double room = std::fabs(b.value) - b.error;
      if (room <= 0 && b.error > 0) return kInfinity;
      return (a.error + size * b.error) / room + 2 * in.eps * size + in.tiny;
    }
    case Op::min:
    case Op::max:
      return std::max(a.error, b.error);
    case Op::tanh:
      return std::min(a.error, 2.0) + kFunctionUlps * in.eps * size;
    case Op::exp:
      return size * std::expm1(a.error) + kFunctionUlps * in.eps * size + in.tiny;
    case Op::sigmoid:
      return std::min({a.error / 4, size * std::expm1(a.error), 1.0}) + kFunctionUlps * in.eps * size + in.tiny;
    case Op::gelu:
      // The derivative stays under 1.13; in the left tail the error is one of x, not of gelu(x).
      return 1.13 * a.error + kFunctionUlps / 2 * in.eps * std::fabs(a.value) + in.tiny;
    default:
      return a.error;
  }
}

// An infinity or NaN that comes from certain arguments is certain: its kind must match.
Bounded in_range(double value, double error, bool unsure, double largest) {
  unsure = unsure || (std::isinf(error) && std::isfinite(value));
  if (!std::isfinite(value) || std::isnan(error)) error = 0;
  const bool finite = std::isfinite(value);
  if (std::fabs(value) - error > largest) {
    if (finite) value = std::copysign(kInfinity, value);
    return {value, unsure ? kInfinity : 0};
  }
  if (finite && std::fabs(value) + error > largest) unsure = true;
  return {value, unsure ? kInfinity : error};
}

}  // namespace

Bounded carry(const std::vector<EpilogueOp>& program, Scalar type, Bounded x, const double* operands) {
  const Limits in = limits(type);
  thread_local std::vector<Bounded> stack;  // called for each element
  stack.clear();
  for (const EpilogueOp& step : program) {
    if (step.op == Op::x) {
      stack.push_back(x);
    } else if (step.op == Op::operand) {
      stack.push_back({operands[step.operand], 0});
    } else if (step.op == Op::number) {
      stack.push_back({step.number, in.eps * std::fabs(step.number)});
    } else {
      Bounded b{0, 0};
      if (takes_two(step.op)) {
        b = stack.back();
        stack.pop_back();
      }
      const Bounded a = stack.back();
      const double value = apply_epilogue(step.op, a.value, b.value);
      const bool unsure = std::isinf(a.error) || std::isinf(b.error);
      stack.back() = in_range(value, added_error(step.op, a, b, value, in), unsure, in.largest);
    }
  }
  return stack.back();
}

double reduction_error(const Spec& problem, int64_t terms, double scale) {
  const bool adds = problem.reduce == Reduce::add;
  if (problem.inputs.size() == 1 && (!adds || terms <= 1)) return 0;  // values are only moved
  const Limits in = limits(problem.type);
  if (adds && scale > in.largest) return kInfinity;
  const double count = static_cast<double>(terms);
  // Each product may round to a subnormal, which has no relative precision.
  return in.eps * (4 + std::sqrt(count)) * scale + in.subnormal * (count + 4);
}

}  // namespace strop
