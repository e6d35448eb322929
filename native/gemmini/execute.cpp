#include <algorithm>
#include <cmath>

#include "gemmini/arithmetic.hpp"
#include "gemmini/multiply.hpp"
#include "gemmini/state.hpp"

namespace strop::gemmini {

namespace {

uint32_t mask_of(int columns) { return columns >= 32 ? 0xFFFFFFFFu : (1u << columns) - 1; }

// The first `columns` elements of row `row` of an operand, as the array gets them: int8 widened, or float32 bits.
// Accumulator rows come scaled and activated by config_ex, as for a mvout.
void read_elements(State& s, const Command& c, LocalAddress at, uint32_t row, int columns, uint64_t now, int32_t* out,
                   uint8_t& provenance) {
  const LocalMemory& memory = at.accumulator() ? s.accumulator : s.scratchpad;
  // What loads bring is tracked, and checked before this (ExecuteUnit::require_landed). Results of the array are told by
  // the first row of operands alone, in the hardware too: a program that reads others while they come is wrong.
  if (memory.ready(row) > now)
    refuse(c, "reads row " + std::to_string(row) + " of the " + (at.accumulator() ? "accumulator" : "scratchpad") +
                  " while a result is on its way into it, which no dependence orders");
  require_written(s, memory, row, mask_of(columns), c, "reads");
  provenance |= memory.provenance(row);
  const uint8_t* bytes = memory.row(row);
  if (!at.accumulator()) {
    if (s.geometry.floating)
      std::memcpy(out, bytes, 4 * columns);
    else
      for (int i = 0; i < columns; i++) out[i] = static_cast<int8_t>(bytes[i]);
    return;
  }
  std::memcpy(out, bytes, 4 * columns);
  const float scale = as_float(c.execute.scale_bits);
  const bool relu = c.execute.activation == Activation::relu;
  for (int i = 0; i < columns; i++) {
    if (s.geometry.floating)
      out[i] = as_bits(canonical((relu && !(as_float(out[i]) > 0) ? 0.0f : as_float(out[i])) * scale));
    else
      out[i] = scaled(relu && out[i] < 0 ? 0 : out[i], scale);
  }
}

// An operand as a matrix of `rows` x `columns`, zero elsewhere; stored transposed if `turned`.
void read_operand(State& s, const Command& c, LocalAddress at, int rows, int columns, int stride, bool turned,
                  uint64_t now, int32_t* out, uint8_t& provenance) {
  const int dim = s.geometry.dim;
  std::fill(out, out + dim * dim, 0);
  if (at.garbage() || rows == 0 || columns == 0) return;
  if (!turned) {
    for (int i = 0; i < rows; i++)
      read_elements(s, c, at, at.row() + static_cast<uint32_t>(i * stride), columns, now, out + i * dim, provenance);
    return;
  }
  int32_t row[kMaxDim];
  for (int j = 0; j < columns; j++) {
    read_elements(s, c, at, at.row() + static_cast<uint32_t>(j * stride), rows, now, row, provenance);
    for (int i = 0; i < rows; i++) out[i * dim + j] = row[i];
  }
}

// What an output-stationary result is when it leaves the array.
int32_t leaving(const Geometry& g, const Command& c, LocalAddress to, int32_t sum) {
  const int shift = c.execute.shift;
  if (g.floating) return shift == 0 ? sum : as_bits(canonical(std::ldexp(as_float(sum), -shift)));
  if (g.raw_output_stationary && to.accumulator()) return sum;
  const int32_t shifted = rounding_shift(sum, shift);
  return g.raw_output_stationary ? shifted : clipped(shifted, g.output_bits);
}

}  // namespace

void feed_preload(State& s, const Command& c, uint64_t now) {
  Plane& plane = s.array.next();
  plane.provenance = 0;
  const ExecuteConfig& ex = c.execute;
  read_operand(s, c, c.first.at, c.first.rows, c.first.columns, 1, ex.weight_stationary && ex.b_transpose, now,
               plane.value, plane.provenance);
  plane.filled = true;
  plane.rows = c.first.at.garbage() ? 0 : c.first.rows;
  plane.columns = c.first.at.garbage() ? 0 : c.first.columns;
  s.array.next_filled = true;
  s.array.result = c.second;
  s.work.preloads++;
}

void compute(State& s, const Command& c, uint64_t now, StepResult& result) {
  const Geometry& g = s.geometry;
  const ExecuteConfig& ex = c.execute;
  const int dim = g.dim;
  if (c.kind == Kind::compute_preloaded && s.array.next_filled) {
    s.array.current = 1 - s.array.current;
    s.array.next_filled = false;
  }
  Plane& plane = s.array.now();
  if (s.strict && !plane.filled) refuse(c, "steps with an array that was never loaded");
  result.at = s.array.result.at;
  result.rows = result.at.garbage() ? 0 : s.array.result.rows;
  result.columns = result.at.garbage() ? 0 : s.array.result.columns;
  result.stride = ex.c_stride;
  result.relu = ex.activation == Activation::relu;

  alignas(64) int32_t a[kMaxDim * kMaxDim], second[kMaxDim * kMaxDim];
  uint8_t provenance = 0;
  read_operand(s, c, c.first.at, c.first.rows, c.first.columns, ex.a_stride, ex.a_transpose, now, a, provenance);
  const int a_rows = c.first.at.garbage() ? 0 : c.first.rows, a_columns = c.first.at.garbage() ? 0 : c.first.columns;
  if (ex.weight_stationary) {
    read_operand(s, c, c.second.at, c.second.rows, c.second.columns, 1, false, now, second, provenance);
    multiply(g, a, plane.value, second, result.value, std::max(result.rows, 0));
    result.provenance = static_cast<uint8_t>(provenance | plane.provenance | kFromArray);
    s.work.macs += static_cast<uint64_t>(std::min(a_rows, result.rows)) * std::min(a_columns, plane.rows) *
                   std::min(plane.columns, result.columns);
  } else {
    read_operand(s, c, c.second.at, c.second.rows, c.second.columns, 1, ex.b_transpose, now, second, provenance);
    multiply(g, a, second, plane.value, plane.value, dim);
    plane.provenance = static_cast<uint8_t>(plane.provenance | provenance | kFromArray);
    result.provenance = plane.provenance;
    for (int i = 0; i < result.rows; i++)
      for (int j = 0; j < result.columns; j++)
        result.value[i * dim + j] = leaving(g, c, result.at, plane.value[i * dim + j]);
    const int b_rows = c.second.at.garbage() ? 0 : c.second.rows;
    s.work.macs += static_cast<uint64_t>(a_rows) * std::min(a_columns, b_rows) * c.second.columns;
  }
  s.work.steps++;
}

void write_result_row(State& s, const StepResult& r, int row, uint64_t ready) {
  if (r.at.garbage() || row >= r.rows || r.columns == 0) return;
  const Geometry& g = s.geometry;
  const uint32_t to = r.at.row() + static_cast<uint32_t>(row * r.stride), mask = mask_of(r.columns);
  const int32_t* value = r.value + row * g.dim;
  if (r.at.accumulator()) {
    if (r.at.accumulate()) {
      add_to_row(g, s.accumulator.row(to), value, r.columns);
      s.accumulator.note_accumulated(to, mask, r.provenance, ready);
    } else {
      std::memcpy(s.accumulator.row(to), value, 4 * r.columns);
      s.accumulator.note_overwritten(to, mask, r.provenance, ready);
    }
    return;
  }
  uint8_t* out = s.scratchpad.row(to);
  for (int j = 0; j < r.columns; j++) {
    if (g.floating) {
      const float element = as_float(value[j]), kept = r.relu && !(element > 0) ? 0.0f : element;
      std::memcpy(out + 4 * j, &kept, 4);
    } else {
      const int8_t element = saturated(value[j]);
      out[j] = static_cast<uint8_t>(r.relu && element < 0 ? 0 : element);
    }
  }
  s.scratchpad.note_overwritten(to, mask, r.provenance, ready);
}

void require_result_rows(const State& s, const Command& c, const StepResult& r) {
  if (!s.strict || r.at.garbage() || !r.at.accumulator() || !r.at.accumulate() || r.columns == 0) return;
  for (int row = 0; row < r.rows; row++)
    require_written(s, s.accumulator, r.at.row() + static_cast<uint32_t>(row * r.stride), mask_of(r.columns), c,
                    "adds to");
}

}  // namespace strop::gemmini
