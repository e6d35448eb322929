// Statistics of rows (layer norm, softmax) and the integer functions of I-BERT, as the functional reference has them:
// the default hardware is built without them (has_normalizations).
#include <cmath>

#include "gemmini/arithmetic.hpp"
#include "gemmini/state.hpp"

namespace strop::gemmini {

namespace {

// Of a row's blocks only the last finishes a statistic.
NormCommand unfinished(NormCommand command) {
  switch (command) {
    case NormCommand::mean: return NormCommand::sum;
    case NormCommand::inverse_stddev: return NormCommand::variance;
    case NormCommand::inverse_sum_exp: return NormCommand::sum_exp;
    default: return command;
  }
}

int32_t divided(int32_t a, int32_t b) { return b == 0 ? 0 : b == -1 ? wrapping_multiply(a, -1) : a / b; }

}  // namespace

int32_t integer_gelu(int32_t q, int32_t qb, int32_t qc) {
  const int32_t most = wrapping_multiply(qb, -1), size = q < 0 ? wrapping_multiply(q, -1) : q;
  const int32_t clipped = size > most ? most : size, sum = wrapping_add(clipped, qb);
  const int32_t polynomial = wrapping_add(wrapping_multiply(sum, sum), qc);
  return wrapping_multiply(q, wrapping_add(q < 0 ? wrapping_multiply(polynomial, -1) : polynomial, qc));
}

int32_t integer_exp(int32_t q, const NormConfig& norm) {
  const int32_t z = wrapping_multiply(wrapping_multiply(q, -1), norm.qln2_inverse) >> 16;
  const int32_t sum = wrapping_add(wrapping_add(q, wrapping_multiply(z, norm.qln2)), norm.qb);
  const int32_t exponential = wrapping_add(wrapping_multiply(sum, sum), norm.qc);
  return exponential >> (z & 31);
}

float float_gelu(float q, float qb, float qc) {
  const float size = std::fabs(q), clipped = size > -qb ? -qb : size;
  const float polynomial = (clipped + qb) * (clipped + qb) + qc;
  return q * ((q < 0 ? -polynomial : polynomial) + qc);
}

bool gather_statistics(State& s, const Command& c, uint32_t row, int columns, bool last) {
  NormStatistics& stat = s.norm[c.norm.stat];
  const NormCommand command = last ? c.first.at.norm() : unfinished(c.first.at.norm());
  if (command == NormCommand::reset && stat.reset) return true;
  if (s.geometry.floating) refuse(c, "norm commands are for integer accumulators");
  if (stat.reset) {
    stat.sum = stat.count = 0;
    stat.running_max = INT32_MIN;
  }
  stat.reset = command == NormCommand::reset || command == NormCommand::mean || command == NormCommand::inverse_stddev;
  int32_t x[kMaxDim];
  std::memcpy(x, s.accumulator.row(row), 4 * columns);
  switch (command) {
    case NormCommand::sum:
    case NormCommand::mean:
      for (int i = 0; i < columns; i++) stat.sum = wrapping_add(stat.sum, x[i]);
      stat.count += columns;
      break;
    case NormCommand::variance:
    case NormCommand::inverse_stddev:
      for (int i = 0; i < columns; i++) {
        const int32_t off = wrapping_subtract(x[i], stat.mean);
        stat.sum = wrapping_add(stat.sum, wrapping_multiply(off, off));
      }
      stat.count += columns;
      break;
    case NormCommand::max:
      for (int i = 0; i < columns; i++)
        if (x[i] > stat.running_max) stat.running_max = x[i];
      break;
    case NormCommand::sum_exp:
    case NormCommand::inverse_sum_exp:
      stat.max = stat.running_max;
      for (int i = 0; i < columns; i++)
        stat.sum = wrapping_add(stat.sum, integer_exp(wrapping_subtract(x[i], stat.max), c.norm));
      break;
    case NormCommand::reset: break;
  }
  if (command == NormCommand::mean) {
    stat.mean = divided(stat.sum, stat.count);
  } else if (command == NormCommand::inverse_stddev) {
    const int32_t variance = divided(stat.sum, stat.count);
    const double root = variance > 0 ? std::sqrt(static_cast<double>(variance)) : 0;
    const int32_t deviation = variance == 0 ? 1 : static_cast<int32_t>(root);
    stat.inverse_stddev = 1.0f / static_cast<float>(deviation);
  } else if (command == NormCommand::inverse_sum_exp) {
    stat.running_max = INT32_MIN;
    stat.inverse_sum_exp = 127.0f / static_cast<float>(stat.sum);
  }
  return command == NormCommand::reset;
}

}  // namespace strop::gemmini
