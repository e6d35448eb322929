// exp, tanh, sigmoid and gelu on whole vectors. All four rest on one reduction: y = n log(2) + r with |r| <= log(2)/2,
// so that exp(y) = 2^n exp(r) and expm1(y) = 2^n expm1(r) + (2^n - 1).
//
// min and max return their second source when either is NaN; the argument always stands there, so NaN passes through.
#include "functions.hpp"

#if STROP_X86

#include <cstdint>
#include <stdexcept>

#include "function_tables.hpp"

namespace strop {

namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

// What depends on the element type and isn't fitted.
struct Format {
  int fraction_bits;
  double shifter;                  // 1.5 * 2^fraction_bits: added to a small number, it rounds it to an integer
  double exp_low, exp_high;        // beyond these exp is 0 and infinite
  double tanh_end;                 // beyond this tanh is 1
  uint64_t sign, magnitude;        // bits
};

constexpr Format kFloat32 = {23, 0x1.8p23, -104, 89, 9.5, 0x80000000u, 0x7fffffffu};
constexpr Format kFloat64 = {52, 0x1.8p52, -746, 710, 20, 0x8000000000000000u, 0x7fffffffffffffffu};

class Emitter {
 public:
  Emitter(VectorUnit& unit, const std::vector<int>& temporaries)
      : unit_(unit),
        t_(temporaries),
        format_(unit.type() == Scalar::f32 ? kFloat32 : kFloat64),
        table_(unit.type() == Scalar::f32 ? k_f32 : k_f64) {}

  void exp(int x) {
    clamp(x, format_.exp_low, format_.exp_high, t_[0]);
    reduce(x, kLog2E, t_[0], t_[1]);
    subtract_logs(x, t_[1]);
    exp_of_reduced(t_[1], x);
    times_power_of_two(x, t_[1], t_[0]);
  }

  void sigmoid(int x) {  // 1 / (1 + exp(-x))
    unit_.bits_xor(x, x, unit_.constant_bits(format_.sign));
    exp(x);
    unit_.add(x, x, unit_.constant(1));
    load(t_[0], 1);
    unit_.div(x, t_[0], unit_.reg(x));
  }

  void tanh(int x) {  // expm1(2x) / (expm1(2x) + 2): expm1 keeps the digits of small x
    const int shifted = t_[0], value = t_[1];
    clamp(x, -format_.tanh_end, format_.tanh_end, t_[0]);
    unit_.add(x, x, unit_.reg(x));
    reduce(x, kLog2E, shifted, value);
    subtract_logs(x, value);
    expm1_over_reduced(value, x);
    unit_.mul(value, value, unit_.reg(x));
    const int power = shifted;
    power_of_two(power);
    load(x, 1);
    unit_.sub(x, x, unit_.reg(power));
    unit_.fmsub231(x, value, unit_.reg(power));  // subtracting 1 - 2^n, not adding 2^n - 1, keeps the sign of zero
    const int below = t_[0];
    unit_.add(below, x, unit_.constant(2));
    unit_.div(x, x, unit_.reg(below));
  }

  // x (1 + erf(x/sqrt(2))) / 2 = max(x, 0) - t Q(t) with t = |x| and Q the normal distribution's tail, which the table
  // gives as Q(t) = exp(-t^2/2) above(t)/below(t). So the far left keeps its digits, and no product is infinity * 0.
  void gelu(int x) {
    const int t = t_[0];
    unit_.bits_and(t, x, unit_.constant_bits(format_.magnitude));
    unit_.min(t, t, unit_.constant(table_.tail_end));
    {
      const int r = t_[1], shifted = t_[2], n = t_[3];
      unit_.mul(r, t, unit_.reg(t));
      reduce(r, -0.5 * kLog2E, shifted, n);
      unit_.mul(r, r, unit_.constant(-0.5));
      subtract_logs(r, n);
      // t^2 was rounded, and exp multiplies that error by t^2/2: put back what the rounding took.
      const int excess = t_[3];
      unit_.mul(excess, t, unit_.reg(t));
      unit_.fnma231(excess, t, unit_.reg(t));
      unit_.fma231(r, excess, unit_.constant(0.5));
      const int value = t_[3];
      exp_of_reduced(value, r);
      times_power_of_two(r, value, shifted);
    }
    const int tail = t_[1], above = t_[2], below = t_[3];
    unit_.mul(tail, tail, unit_.reg(t));
    horner(above, t, table_.tail_above);
    horner(below, t, table_.tail_below);
    unit_.div(above, above, unit_.reg(below));
    unit_.mul(tail, tail, unit_.reg(above));
    const int zero = t;
    unit_.zero(zero);
    unit_.max(x, zero, unit_.reg(x));
    unit_.sub(x, x, unit_.reg(tail));
  }

 private:
  void load(int dst, double value) { unit_.load(dst, unit_.constant(value), unit_.lanes(), -1); }

  void clamp(int x, double low, double high, int temporary) {
    load(temporary, high);
    unit_.min(x, temporary, unit_.reg(x));
    load(temporary, low);
    unit_.max(x, temporary, unit_.reg(x));
  }

  // n = y * factor to the nearest integer; `shifted` also holds n, in its lowest bits.
  void reduce(int y, double factor, int shifted, int n) {
    load(shifted, format_.shifter);
    unit_.fma231(shifted, y, unit_.constant(factor));
    unit_.sub(n, shifted, unit_.constant(format_.shifter));
  }

  void subtract_logs(int y, int n) {  // y - n log(2)
    unit_.fnma231(y, n, unit_.constant(table_.log2_high));
    unit_.fnma231(y, n, unit_.constant(table_.log2_low));
  }

  void horner(int dst, int at, const std::vector<double>& coefficients) {
    load(dst, coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) unit_.fma213(dst, at, unit_.constant(coefficients[i]));
  }

  void expm1_over_reduced(int dst, int r) {
    horner(dst, r, table_.expm1);
    unit_.fma213(dst, r, unit_.constant(1));
  }

  void exp_of_reduced(int dst, int r) {
    expm1_over_reduced(dst, r);
    unit_.fma213(dst, r, unit_.constant(1));
  }

  void power_of_two(int shifted) {  // 2^n of a normal number
    unit_.shift_left(shifted, shifted, format_.fraction_bits);
    unit_.integer_add(shifted, shifted, unit_.constant(1));
  }

  // dst = value * 2^n, down to denormal numbers and up to infinity. Clobbers all three.
  void times_power_of_two(int dst, int value, int shifted) {
    if (unit_.wide()) {
      unit_.sub(shifted, shifted, unit_.constant(format_.shifter));
      unit_.scale(dst, value, shifted);
      return;
    }
    // 2^n itself may be out of range: two factors with half of n each. The shifter's own bits vanish in the halves.
    const int half = dst, rest = shifted;
    unit_.shift_right(half, shifted, 1);
    unit_.integer_sub(rest, shifted, unit_.reg(half));
    power_of_two(half);
    power_of_two(rest);
    unit_.mul(value, value, unit_.reg(half));
    unit_.mul(dst, value, unit_.reg(rest));
  }

  VectorUnit& unit_;
  const std::vector<int>& t_;
  const Format& format_;
  const FunctionTable& table_;
};

}  // namespace

int function_temporaries(Op op) {
  switch (op) {
    case Op::exp:
    case Op::tanh:
    case Op::sigmoid:
      return 2;
    case Op::gelu:
      return 4;
    default:
      return 0;
  }
}

void emit_function(VectorUnit& unit, Op op, int x, const std::vector<int>& temporaries) {
  Emitter emitter(unit, temporaries);
  switch (op) {
    case Op::exp:
      return emitter.exp(x);
    case Op::tanh:
      return emitter.tanh(x);
    case Op::sigmoid:
      return emitter.sigmoid(x);
    case Op::gelu:
      return emitter.gelu(x);
    default:
      throw std::logic_error("emit_function: not a function");
  }
}

}  // namespace strop

#endif  // STROP_X86
