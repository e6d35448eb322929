// Comparisons, minimum and maximum, classes, and conversions.
#include "fp.hpp"
#include "fp_unpacked.hpp"

namespace strop::rocket::fp {
namespace {

// Orders non-NaN bits as integers; both zeros are equal for `less`, -0 below +0 for min and max.
template <bool kWide>
bool below(uint64_t a, uint64_t b) {
  using F = Format<kWide>;
  const bool negative_a = a & F::kSign, negative_b = b & F::kSign;
  if (negative_a != negative_b) return negative_a;
  return negative_a ? b < a : a < b;
}

template <bool kWide>
bool both_zero(uint64_t a, uint64_t b) { return ((a | b) & ~Format<kWide>::kSign) == 0; }

}  // namespace

template <bool kWide>
uint64_t min_max(uint64_t a, uint64_t b, bool max, Status& status) {
  const Unpacked x = unpack<kWide>(a), y = unpack<kWide>(b);
  if (x.kind == Kind::signaling_nan || y.kind == Kind::signaling_nan) status.flags |= kInvalid;
  if (x.nan()) return y.nan() ? Format<kWide>::kNan : b;
  if (y.nan()) return a;
  return below<kWide>(a, b) != max ? a : b;
}

template <bool kWide>
bool equal(uint64_t a, uint64_t b, Status& status) {
  const Unpacked x = unpack<kWide>(a), y = unpack<kWide>(b);
  if (x.kind == Kind::signaling_nan || y.kind == Kind::signaling_nan) status.flags |= kInvalid;
  if (x.nan() || y.nan()) return false;
  return a == b || both_zero<kWide>(a, b);
}

template <bool kWide>
bool less(uint64_t a, uint64_t b, bool or_equal, Status& status) {
  if (unpack<kWide>(a).nan() || unpack<kWide>(b).nan()) {
    status.flags |= kInvalid;
    return false;
  }
  if (a == b || both_zero<kWide>(a, b)) return or_equal;
  return below<kWide>(a, b);
}

template <bool kWide>
uint64_t classify(uint64_t a) {
  using F = Format<kWide>;
  const Unpacked x = unpack<kWide>(a);
  switch (x.kind) {
    case Kind::signaling_nan: return 1 << 8;
    case Kind::quiet_nan: return 1 << 9;
    case Kind::infinite: return x.sign ? 1 << 0 : 1 << 7;
    case Kind::zero: return x.sign ? 1 << 3 : 1 << 4;
    default: break;
  }
  const bool subnormal = (a & F::kInfinity) == 0;
  if (x.sign) return subnormal ? 1 << 2 : 1 << 1;
  return subnormal ? 1 << 5 : 1 << 6;
}

template <bool kWide>
uint64_t to_integer(uint64_t a, int bits, bool is_signed, Status& status) {
  const Unpacked x = unpack<kWide>(a);
  const uint64_t highest = is_signed ? (uint64_t{1} << (bits - 1)) - 1 : bits == 64 ? ~uint64_t{0} : 0xffffffff;
  const uint64_t lowest = is_signed ? uint64_t{1} << (bits - 1) : 0;  // as a magnitude
  const auto extended = [bits](uint64_t value) {
    return bits == 32 ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value))) : value;
  };
  const auto saturated = [&](bool sign) {
    status.flags |= kInvalid;
    return extended(sign ? 0 - lowest : highest);
  };
  if (x.nan()) return saturated(false);
  if (x.kind == Kind::infinite) return saturated(x.sign);
  if (x.kind == Kind::zero) return 0;
  if (x.exponent >= 64) return saturated(x.sign);
  // Integer part and the rest below it, as 64.64 bits; sticky for what lies lower still.
  const Wide fixed = x.exponent >= -1 ? Wide{x.significand} << (x.exponent + 1)
                                      : Wide{shift_sticky(x.significand, -1 - x.exponent)};
  uint64_t magnitude = static_cast<uint64_t>(fixed >> 64);
  const uint64_t rest = static_cast<uint64_t>(fixed);
  const bool away = rest != 0 && rounds_away(status.rounding, x.sign, magnitude & 1, rest, uint64_t{1} << 63);
  if (away && ++magnitude == 0) return saturated(x.sign);
  if (magnitude > (x.sign ? lowest : highest)) return saturated(x.sign);
  if (rest != 0) status.flags |= kInexact;
  return extended(x.sign ? 0 - magnitude : magnitude);
}

template <bool kWide>
uint64_t from_integer(uint64_t value, bool is_signed, Status& status) {
  if (value == 0) return 0;
  const bool sign = is_signed && (value >> 63);
  const uint64_t magnitude = sign ? 0 - value : value;
  const int shift = std::countl_zero(magnitude);
  return round_and_pack<kWide>(sign, 63 - shift, magnitude << shift, status);
}

uint64_t narrow(uint64_t a, Status& status) {
  const Unpacked x = unpack<true>(a);
  const uint64_t sign = x.sign ? Format<false>::kSign : 0;
  switch (x.kind) {
    case Kind::signaling_nan: status.flags |= kInvalid; [[fallthrough]];
    case Kind::quiet_nan: return kNan32;
    case Kind::infinite: return sign | Format<false>::kInfinity;
    case Kind::zero: return sign;
    default: return round_and_pack<false>(x.sign, x.exponent, x.significand, status);
  }
}

uint64_t widen(uint64_t a, Status& status) {
  const Unpacked x = unpack<false>(a);
  const uint64_t sign = x.sign ? Format<true>::kSign : 0;
  switch (x.kind) {
    case Kind::signaling_nan: status.flags |= kInvalid; [[fallthrough]];
    case Kind::quiet_nan: return kNan64;
    case Kind::infinite: return sign | Format<true>::kInfinity;
    case Kind::zero: return sign;
    default: return round_and_pack<true>(x.sign, x.exponent, x.significand, status);
  }
}

#define STROP_INSTANTIATE(kWide)                                              \
  template uint64_t min_max<kWide>(uint64_t, uint64_t, bool, Status&);        \
  template bool equal<kWide>(uint64_t, uint64_t, Status&);                    \
  template bool less<kWide>(uint64_t, uint64_t, bool, Status&);               \
  template uint64_t classify<kWide>(uint64_t);                                \
  template uint64_t to_integer<kWide>(uint64_t, int, bool, Status&);          \
  template uint64_t from_integer<kWide>(uint64_t, bool, Status&);
STROP_INSTANTIATE(false)
STROP_INSTANTIATE(true)
#undef STROP_INSTANTIATE

}  // namespace strop::rocket::fp
