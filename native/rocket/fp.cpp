#include "fp.hpp"

#include <cmath>
#include <cstring>

#include "fp_unpacked.hpp"

namespace strop::rocket::fp {
namespace {

template <bool kWide>
uint64_t invalid(Status& status) {
  status.flags |= kInvalid;
  return Format<kWide>::kNan;
}

template <bool kWide>
uint64_t propagate(const Unpacked& a, const Unpacked& b, Status& status) {  // one of them is a NaN
  if (a.kind == Kind::signaling_nan || b.kind == Kind::signaling_nan) status.flags |= kInvalid;
  return Format<kWide>::kNan;
}

template <bool kWide>
uint64_t signed_zero(bool sign) { return sign ? Format<kWide>::kSign : 0; }

template <bool kWide>
uint64_t infinity(bool sign) { return signed_zero<kWide>(sign) | Format<kWide>::kInfinity; }

// The sum of two finite non-zero values, whose significands stand with the leading one at bit 126 (125 for a product).
template <bool kWide>
uint64_t add_magnitudes(bool sign_a, int exponent_a, Wide a, bool sign_b, int exponent_b, Wide b, Status& status) {
  const int exponent = exponent_a > exponent_b ? exponent_a : exponent_b;
  a = shift_sticky(a, exponent - exponent_a);
  b = shift_sticky(b, exponent - exponent_b);
  if (sign_a == sign_b) return normalize_and_pack<kWide>(sign_a, exponent + 1, a + b, status);
  if (a == b) return signed_zero<kWide>(status.rounding == kDown);
  const bool a_larger = a > b;
  return normalize_and_pack<kWide>(a_larger ? sign_a : sign_b, exponent + 1, a_larger ? a - b : b - a, status);
}

// The host's own arithmetic, where it gives the same bits and no flag is left to raise: rounding to nearest even, the
// inexact flag already up, and operands and result far enough from subnormals and infinities.
template <bool kWide> struct Host;
template <> struct Host<false> { using type = float; using bits = uint32_t; };
template <> struct Host<true> { using type = double; using bits = uint64_t; };

template <bool kWide>
bool plain(uint64_t bits) {  // zero or normal
  using F = Format<kWide>;
  const uint64_t exponent = bits >> F::kFraction & F::kMaxExponent;
  return exponent - 1 < F::kMaxExponent - 1 || (bits & ~F::kSign) == 0;
}

template <bool kWide>
typename Host<kWide>::type host(uint64_t bits) {
  return std::bit_cast<typename Host<kWide>::type>(static_cast<typename Host<kWide>::bits>(bits));
}

template <bool kWide>
bool safe(uint64_t bits) {  // normal and above the smallest: certainly neither tiny nor overflowed
  using F = Format<kWide>;
  return (bits >> F::kFraction & F::kMaxExponent) - 2 < F::kMaxExponent - 2;
}

bool fast(const Status& status) { return status.rounding == kNearestEven && (status.flags & kInexact); }

template <bool kWide>
uint64_t bits_of(typename Host<kWide>::type value) { return std::bit_cast<typename Host<kWide>::bits>(value); }

}  // namespace

template <bool kWide>
uint64_t add(uint64_t a, uint64_t b, Status& status) {
  if (fast(status) && plain<kWide>(a) && plain<kWide>(b)) {
    const uint64_t sum = bits_of<kWide>(host<kWide>(a) + host<kWide>(b));
    if (safe<kWide>(sum)) return sum;
  }
  const Unpacked x = unpack<kWide>(a), y = unpack<kWide>(b);
  if (x.nan() || y.nan()) return propagate<kWide>(x, y, status);
  if (x.kind == Kind::infinite) {
    if (y.kind == Kind::infinite && x.sign != y.sign) return invalid<kWide>(status);
    return a;
  }
  if (y.kind == Kind::infinite) return b;
  if (x.kind == Kind::zero) {
    if (y.kind != Kind::zero) return b;
    return x.sign == y.sign ? a : signed_zero<kWide>(status.rounding == kDown);
  }
  if (y.kind == Kind::zero) return a;
  return add_magnitudes<kWide>(x.sign, x.exponent, Wide{x.significand} << 63, y.sign, y.exponent,
                               Wide{y.significand} << 63, status);
}

template <bool kWide>
uint64_t mul(uint64_t a, uint64_t b, Status& status) {
  if (fast(status) && plain<kWide>(a) && plain<kWide>(b)) {
    const uint64_t product = bits_of<kWide>(host<kWide>(a) * host<kWide>(b));
    if (safe<kWide>(product)) return product;
  }
  const Unpacked x = unpack<kWide>(a), y = unpack<kWide>(b);
  const bool sign = x.sign != y.sign;
  if (x.nan() || y.nan()) return propagate<kWide>(x, y, status);
  if (x.kind == Kind::infinite || y.kind == Kind::infinite) {
    return x.kind == Kind::zero || y.kind == Kind::zero ? invalid<kWide>(status) : infinity<kWide>(sign);
  }
  if (x.kind == Kind::zero || y.kind == Kind::zero) return signed_zero<kWide>(sign);
  return normalize_and_pack<kWide>(sign, x.exponent + y.exponent + 1, Wide{x.significand} * y.significand, status);
}

template <bool kWide>
uint64_t fused(uint64_t a, uint64_t b, uint64_t c, Status& status) {
  if (fast(status) && plain<kWide>(a) && plain<kWide>(b) && plain<kWide>(c)) {
    const uint64_t result = bits_of<kWide>(std::fma(host<kWide>(a), host<kWide>(b), host<kWide>(c)));
    if (safe<kWide>(result)) return result;
  }
  const Unpacked x = unpack<kWide>(a), y = unpack<kWide>(b), z = unpack<kWide>(c);
  const bool sign = x.sign != y.sign;
  const bool undefined = (x.kind == Kind::infinite && y.kind == Kind::zero) ||
                         (x.kind == Kind::zero && y.kind == Kind::infinite);
  if (x.nan() || y.nan() || z.nan()) {
    if (undefined || z.kind == Kind::signaling_nan) status.flags |= kInvalid;  // 0 * inf + NaN is invalid, too
    return propagate<kWide>(x, y, status);
  }
  if (undefined) return invalid<kWide>(status);
  if (x.kind == Kind::infinite || y.kind == Kind::infinite) {
    if (z.kind == Kind::infinite && z.sign != sign) return invalid<kWide>(status);
    return infinity<kWide>(sign);
  }
  if (z.kind == Kind::infinite) return c;
  if (x.kind == Kind::zero || y.kind == Kind::zero) {
    if (z.kind != Kind::zero) return c;
    return z.sign == sign ? c : signed_zero<kWide>(status.rounding == kDown);
  }
  const Wide product = Wide{x.significand} * y.significand;  // leading one at bit 127 or 126; 22 or more low bits are 0
  const int exponent = x.exponent + y.exponent;
  if (z.kind == Kind::zero) return normalize_and_pack<kWide>(sign, exponent + 1, product, status);
  return add_magnitudes<kWide>(sign, exponent + 1, product >> 1, z.sign, z.exponent, Wide{z.significand} << 63, status);
}

template <bool kWide>
uint64_t div(uint64_t a, uint64_t b, Status& status) {
  const Unpacked x = unpack<kWide>(a), y = unpack<kWide>(b);
  const bool sign = x.sign != y.sign;
  if (x.nan() || y.nan()) return propagate<kWide>(x, y, status);
  if (x.kind == Kind::infinite) return y.kind == Kind::infinite ? invalid<kWide>(status) : infinity<kWide>(sign);
  if (y.kind == Kind::infinite) return signed_zero<kWide>(sign);
  if (y.kind == Kind::zero) {
    if (x.kind == Kind::zero) return invalid<kWide>(status);
    status.flags |= kDivideByZero;
    return infinity<kWide>(sign);
  }
  if (x.kind == Kind::zero) return signed_zero<kWide>(sign);
  const Wide dividend = Wide{x.significand} << 63;
  const Wide quotient = dividend / y.significand;  // 63 or 64 bits
  const bool rest = quotient * y.significand != dividend;
  return normalize_and_pack<kWide>(sign, x.exponent - y.exponent + 63, quotient << 1 | rest, status);
}

template <bool kWide>
uint64_t sqrt(uint64_t a, Status& status) {
  const Unpacked x = unpack<kWide>(a);
  if (x.nan()) return propagate<kWide>(x, x, status);
  if (x.kind == Kind::zero) return a;
  if (x.sign) return invalid<kWide>(status);
  if (x.kind == Kind::infinite) return a;
  const bool odd = x.exponent & 1;
  const Wide radicand = Wide{x.significand} << (odd ? 64 : 63);  // 127 or 128 bits: the root has 64
  uint64_t root = 0;
  Wide rest = 0;
  for (int i = 63; i >= 0; --i) {  // two bits of the radicand give one of the root
    rest = rest << 2 | (static_cast<uint64_t>(radicand >> (2 * i)) & 3);
    const Wide trial = Wide{root} << 2 | 1;
    root <<= 1;
    if (rest >= trial) rest -= trial, root |= 1;
  }
  return normalize_and_pack<kWide>(false, (x.exponent - odd) / 2 + 63, Wide{root} << 1 | (rest != 0), status);
}

template uint64_t add<false>(uint64_t, uint64_t, Status&);
template uint64_t add<true>(uint64_t, uint64_t, Status&);
template uint64_t mul<false>(uint64_t, uint64_t, Status&);
template uint64_t mul<true>(uint64_t, uint64_t, Status&);
template uint64_t fused<false>(uint64_t, uint64_t, uint64_t, Status&);
template uint64_t fused<true>(uint64_t, uint64_t, uint64_t, Status&);
template uint64_t div<false>(uint64_t, uint64_t, Status&);
template uint64_t div<true>(uint64_t, uint64_t, Status&);
template uint64_t sqrt<false>(uint64_t, Status&);
template uint64_t sqrt<true>(uint64_t, Status&);

}  // namespace strop::rocket::fp
