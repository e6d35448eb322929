// IEEE 754 arithmetic as RISC-V asks for it: five rounding modes, flags, tininess after rounding, canonical NaNs.
// In software, so that results and flags are equal on every host.
#pragma once

#include <cstdint>

#include "opcodes.hpp"

namespace strop::rocket::fp {

enum Rounding : uint8_t { kNearestEven = 0, kToZero = 1, kDown = 2, kUp = 3, kNearestMax = 4 };
enum Flag : uint8_t { kInexact = 1, kUnderflow = 2, kOverflow = 4, kDivideByZero = 8, kInvalid = 16 };

constexpr uint64_t kBoxed = 0xffffffff00000000;  // upper half of a register that holds a float
constexpr uint64_t kNan32 = 0x7fc00000, kNan64 = 0x7ff8000000000000;

// A register's value as a float: the canonical NaN unless properly boxed.
inline uint32_t unbox(uint64_t value) {
  return value >= kBoxed ? static_cast<uint32_t>(value) : static_cast<uint32_t>(kNan32);
}

// Rounding mode in, flags in and out (or-ed): with the inexact flag up already the host's arithmetic serves.
struct Status {
  uint8_t rounding = kNearestEven;
  uint8_t flags = 0;
};

// Operands and results are the formats' bits, 32 of them for kWide = false. fused: a * b + c, rounded once.
template <bool kWide> uint64_t add(uint64_t a, uint64_t b, Status& status);
template <bool kWide> uint64_t mul(uint64_t a, uint64_t b, Status& status);
template <bool kWide> uint64_t fused(uint64_t a, uint64_t b, uint64_t c, Status& status);
template <bool kWide> uint64_t div(uint64_t a, uint64_t b, Status& status);
template <bool kWide> uint64_t sqrt(uint64_t a, Status& status);

template <bool kWide> uint64_t min_max(uint64_t a, uint64_t b, bool max, Status& status);
template <bool kWide> bool equal(uint64_t a, uint64_t b, Status& status);
template <bool kWide> bool less(uint64_t a, uint64_t b, bool or_equal, Status& status);
template <bool kWide> uint64_t classify(uint64_t a);

// To an integer of `bits` (32 or 64), saturating; a 32-bit result is sign-extended, unsigned ones too.
template <bool kWide> uint64_t to_integer(uint64_t a, int bits, bool is_signed, Status& status);
template <bool kWide> uint64_t from_integer(uint64_t value, bool is_signed, Status& status);
uint64_t narrow(uint64_t a, Status& status);  // double to float
uint64_t widen(uint64_t a, Status& status);   // float to double

}  // namespace strop::rocket::fp
