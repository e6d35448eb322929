// What the datapath does to one number: scaling, rounding, saturation, shifts, activations.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "gemmini/command.hpp"

namespace strop::gemmini {

inline float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline float as_float(int32_t bits) { return std::bit_cast<float>(bits); }
inline int32_t as_bits(float value) { return std::bit_cast<int32_t>(value); }

// hardfloat's only NaN.
inline float canonical(float value) { return value != value ? as_float(0x7FC00000u) : value; }

// Half to even and saturated to [least, most]; NaN gives `most`, as hardfloat's conversion does.
inline int32_t round_saturated(float value, int32_t least, int32_t most) {
  if (!(value < static_cast<float>(most))) return most;
  if (value <= static_cast<float>(least)) return least;
  return static_cast<int32_t>(std::nearbyintf(value));
}

inline int8_t saturated(int32_t value) {
  return static_cast<int8_t>(value > 127 ? 127 : value < -128 ? -128 : value);
}

// The product is a float32 one, of the integer rounded to float32 (Configs.scala: INToRecFN, MulAddRecFN).
inline int8_t scaled(int32_t value, float scale) {
  return static_cast<int8_t>(round_saturated(static_cast<float>(value) * scale, -128, 127));
}

// Arithmetic right shift, half to even.
inline int32_t rounding_shift(int32_t value, int shift) {
  if (shift <= 0) return value;
  if (shift > 31) shift = 31;
  const int64_t wide = value;
  const int64_t floor = wide >> shift;
  const int64_t rest = wide - (floor << shift), half = int64_t{1} << (shift - 1);
  return static_cast<int32_t>(floor + (rest > half || (rest == half && (floor & 1)) ? 1 : 0));
}

inline int32_t clipped(int32_t value, int bits) {
  if (bits >= 32) return value;
  const int32_t most = (int32_t{1} << (bits - 1)) - 1;
  return value > most ? most : value < -most - 1 ? -most - 1 : value;
}

// Towards zero; what doesn't fit is the least int32, as x86's conversion has it.
inline int32_t truncated(float value) {
  return value >= -2147483648.0f && value < 2147483648.0f ? static_cast<int32_t>(value) : INT32_MIN;
}

// Sums wrap, as the hardware's do.
inline int32_t wrapping_add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t wrapping_subtract(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
inline int32_t wrapping_multiply(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

// I-BERT's integer GELU and exponential, on accumulator entries before scaling.
int32_t integer_gelu(int32_t q, int32_t qb, int32_t qc);
int32_t integer_exp(int32_t q, const NormConfig& norm);
float float_gelu(float q, float qb, float qc);

}  // namespace strop::gemmini
