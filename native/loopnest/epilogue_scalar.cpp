// Epilogues on one number, for the portable path and for constants. Written in double whatever the element type.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "epilogue.hpp"

namespace strop {

namespace {

// std::min and std::max drop a NaN on one side; numpy.minimum and numpy.maximum do not.
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b); }
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b); }

// The form of the vector code: erfc keeps the left tail's digits, and no product is infinity * 0. Far out erfc
// multiplies the rounding of its argument by t*t, hence long double.
double gelu(double x) {
  const double t = std::min(std::fabs(x), 40.0);
  const long double tail = std::erfc(t * 0.707106781186547524400844362104849L) / 2;
  return larger(x, 0) - static_cast<double>(t * tail);
}

}  // namespace

double apply_epilogue(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::min:
      return smaller(a, b);
    case Op::max:
      return larger(a, b);
    case Op::neg:
      return -a;
    case Op::relu:
      return larger(a, 0);
    case Op::gelu:
      return gelu(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::exp:
      return std::exp(a);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-a));
    case Op::x:
    case Op::operand:
    case Op::number:
      break;
  }
  throw std::logic_error("apply_epilogue: not an operation");
}

double run_epilogue(const std::vector<EpilogueOp>& program, Scalar type, double x, const double* operands) {
  thread_local std::vector<double> stack;  // called for each element
  stack.clear();
  for (const EpilogueOp& step : program) {
    if (step.op == Op::x) {
      stack.push_back(x);
    } else if (step.op == Op::operand) {
      stack.push_back(operands[step.operand]);
    } else if (step.op == Op::number) {  // the vector code's constants have the element type
      stack.push_back(type == Scalar::f32 ? static_cast<double>(static_cast<float>(step.number)) : step.number);
    } else if (takes_two(step.op)) {
      const double b = stack.back();
      stack.pop_back();
      stack.back() = apply_epilogue(step.op, stack.back(), b);
    } else {
      stack.back() = apply_epilogue(step.op, stack.back(), 0);
    }
  }
  return stack.back();
}

}  // namespace strop
