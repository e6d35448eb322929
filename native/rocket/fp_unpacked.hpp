// The form in which fp.cpp computes: sign, exponent, and a significand whose leading one stands at bit 63.
#pragma once

#include <bit>
#include <cstdint>

#include "fp.hpp"

namespace strop::rocket::fp {

__extension__ typedef unsigned __int128 Wide;

template <bool kWide>
struct Format {
  static constexpr int kBits = kWide ? 64 : 32, kFraction = kWide ? 52 : 23, kMaxExponent = kWide ? 0x7ff : 0xff;
  static constexpr int kBias = kWide ? 1023 : 127;
  static constexpr uint64_t kFractionMask = (uint64_t{1} << kFraction) - 1;
  static constexpr uint64_t kSign = uint64_t{1} << (kBits - 1);
  static constexpr uint64_t kInfinity = uint64_t{kMaxExponent} << kFraction;
  static constexpr uint64_t kQuiet = uint64_t{1} << (kFraction - 1);
  static constexpr uint64_t kNan = kInfinity | kQuiet;
};

enum class Kind : uint8_t { zero, finite, infinite, quiet_nan, signaling_nan };

struct Unpacked {
  Kind kind;
  bool sign;
  int exponent;          // of the leading one: the value is significand / 2^63 * 2^exponent
  uint64_t significand;  // 0 unless finite
  bool nan() const { return kind >= Kind::quiet_nan; }
};

template <bool kWide>
inline Unpacked unpack(uint64_t bits) {
  using F = Format<kWide>;
  const bool sign = bits & F::kSign;
  const int exponent = static_cast<int>(bits >> F::kFraction) & F::kMaxExponent;
  const uint64_t fraction = bits & F::kFractionMask;
  if (exponent == F::kMaxExponent) {
    const Kind kind = fraction == 0 ? Kind::infinite : fraction & F::kQuiet ? Kind::quiet_nan : Kind::signaling_nan;
    return {kind, sign, 0, 0};
  }
  if (exponent == 0) {
    if (fraction == 0) return {Kind::zero, sign, 0, 0};
    const int shift = std::countl_zero(fraction);
    return {Kind::finite, sign, 1 - F::kBias + (63 - F::kFraction) - shift, fraction << shift};
  }
  return {Kind::finite, sign, exponent - F::kBias, (fraction | (F::kFractionMask + 1)) << (63 - F::kFraction)};
}

// Shifts right, or-ing what falls off into the lowest bit.
inline uint64_t shift_sticky(uint64_t value, int by) {
  if (by <= 0) return value;
  if (by >= 64) return value != 0;
  return value >> by | ((value << (64 - by)) != 0);
}

inline Wide shift_sticky(Wide value, int by) {
  if (by <= 0) return value;
  if (by >= 128) return value != 0;
  return value >> by | ((value << (128 - by)) != 0);
}

// Whether a value that lies `rest` of a step of `half` * 2 above `odd`'s owner is rounded away from zero.
inline bool rounds_away(uint8_t rounding, bool sign, bool odd, uint64_t rest, uint64_t half) {
  switch (rounding) {
    case kNearestEven: return rest > half || (rest == half && odd);
    case kToZero: return false;
    case kDown: return sign && rest != 0;
    case kUp: return !sign && rest != 0;
    default: return rest >= half;
  }
}

// Rounds significand / 2^63 * 2^exponent (leading one at bit 63, lowest bit sticky) to the format.
template <bool kWide>
inline uint64_t round_and_pack(bool sign, int exponent, uint64_t significand, Status& status) {
  using F = Format<kWide>;
  constexpr int kDrop = 63 - F::kFraction;
  constexpr uint64_t kHalf = uint64_t{1} << (kDrop - 1), kRest = (uint64_t{1} << kDrop) - 1;
  const uint64_t sign_bit = sign ? F::kSign : 0;
  int biased = exponent + F::kBias;
  bool tiny = false;
  if (biased <= 0) {
    // Tiny after rounding: unless rounding with an unbounded exponent carries it up to the smallest normal number.
    const bool carries = (significand >> kDrop) == (F::kFractionMask << 1 | 1) &&
                         rounds_away(status.rounding, sign, true, significand & kRest, kHalf);
    tiny = biased < 0 || !carries;
    significand = shift_sticky(significand, 1 - biased);
    biased = 0;
  }
  const uint64_t rest = significand & kRest;
  uint64_t kept = significand >> kDrop;
  if (rest != 0) {
    status.flags |= tiny ? kInexact | kUnderflow : kInexact;
    kept += rounds_away(status.rounding, sign, kept & 1, rest, kHalf);
  }
  // `kept` holds the leading one for normal numbers: adding it lets a carry reach the exponent.
  const uint64_t packed = biased == 0 ? kept : (static_cast<uint64_t>(biased - 1) << F::kFraction) + kept;
  if (biased >= F::kMaxExponent || packed >= F::kInfinity) {
    status.flags |= kOverflow | kInexact;
    const bool infinite = status.rounding == kNearestEven || status.rounding == kNearestMax ||
                          (status.rounding == kDown && sign) || (status.rounding == kUp && !sign);
    return sign_bit | (infinite ? F::kInfinity : F::kInfinity - 1);
  }
  return sign_bit | packed;
}

// The same for 128 bits with the leading one anywhere; not for zero.
template <bool kWide>
inline uint64_t normalize_and_pack(bool sign, int exponent, Wide significand, Status& status) {
  const uint64_t high = static_cast<uint64_t>(significand >> 64);
  const int shift = high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<uint64_t>(significand));
  significand <<= shift;
  return round_and_pack<kWide>(sign, exponent - shift,
                               static_cast<uint64_t>(significand >> 64) | (static_cast<uint64_t>(significand) != 0),
                               status);
}

}  // namespace strop::rocket::fp
