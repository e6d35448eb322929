// What a command may ask for: the hardware's assertions, and what it silently gets wrong.
#include <algorithm>

#include "gemmini/command.hpp"

namespace strop::gemmini {

namespace {

std::string number(int64_t n) { return std::to_string(n); }

int memory_rows(const Geometry& g, LocalAddress at) { return at.accumulator() ? g.accumulator_rows() : g.rows(); }

const char* memory_name(LocalAddress at) { return at.accumulator() ? "accumulator" : "scratchpad"; }

// Rows base .. base + span - 1 must exist.
void check_rows(const Geometry& g, const Command& c, LocalAddress at, int64_t span, const char* what) {
  const int64_t last = static_cast<int64_t>(at.row()) + span - 1;
  if (span > 0 && last >= memory_rows(g, at))
    refuse(c, std::string(what) + " reaches row " + number(last) + " of the " + memory_name(at) + ", which has " +
                  number(memory_rows(g, at)));
}

void check_dims(const Geometry& g, const Command& c, const Operand& o, const char* what) {
  if (o.rows > g.dim || o.columns > g.dim)
    refuse(c, std::string(what) + " has " + number(o.rows) + " rows and " + number(o.columns) +
                  " columns; the array has " + number(g.dim) + " of each");
}

}  // namespace

void Decoder::check_load(const Command& c) const {
  const Operand& to = c.first;
  if (to.at.garbage()) refuse(c, "its destination is the garbage address");
  if (to.rows > geometry_.dim)
    refuse(c, number(to.rows) + " rows; at most " + number(geometry_.dim) + " are moved at once");
  const int most = to.at.accumulator() && !c.load.shrink ? geometry_.max_accumulator_columns()
                                                         : geometry_.max_columns();
  if (to.columns > most) refuse(c, number(to.columns) + " columns; at most " + number(most) + " are moved at once");
  if (strict_ && (to.rows == 0 || to.columns == 0)) refuse(c, "moves nothing: it has no rows or no columns");
  const int blocks = load_blocks(geometry_, c);
  if (c.load.block_stride < to.rows && (strict_ || blocks > 1))
    refuse(c, "block stride " + number(c.load.block_stride) + " is less than its " + number(to.rows) + " rows");
  if (c.load.pixel_repeats > 1) {
    if (to.at.accumulator()) refuse(c, "pixels are repeated in the scratchpad only");
    if (to.columns * c.load.pixel_repeats > geometry_.dim)
      refuse(c, number(c.load.pixel_repeats) + " pixels of " + number(to.columns) + " columns don't fit a row of " +
                    number(geometry_.dim));
  }
  if (to.columns > 0)
    check_rows(geometry_, c, to.at, to.rows + static_cast<int64_t>(blocks - 1) * c.load.block_stride, "the destination");
}

void Decoder::check_store(const Command& c) const {
  const Operand& from = c.first;
  if (from.at.garbage()) refuse(c, "its source is the garbage address");
  const int blocks = store_blocks(geometry_, c);
  const bool full = from.at.accumulator() && from.at.full_width();
  if (from.columns > geometry_.max_columns())
    refuse(c, number(from.columns) + " columns; at most " + number(geometry_.max_columns()) + " are moved at once");
  if (blocks > 1 && full) refuse(c, "full-width entries leave one block of columns at a time");
  if (strict_ && from.columns == 0) refuse(c, "moves nothing: it has no columns");
  if (c.kind == Kind::store && c.store.pooling()) {
    if (blocks > 1) refuse(c, "pooling takes one block of columns at a time");
    if (full) refuse(c, "full-width entries aren't pooled");
    check_rows(geometry_, c, from.at, static_cast<int64_t>(c.store.out_rows) * c.store.out_columns, "the pooled image");
    return;
  }
  if (from.rows > geometry_.dim)
    refuse(c, number(from.rows) + " rows; at most " + number(geometry_.dim) + " are moved at once");
  if (strict_ && from.rows == 0) refuse(c, "moves nothing: it has no rows");
  if (from.columns > 0)
    check_rows(geometry_, c, from.at, from.rows + static_cast<int64_t>(blocks - 1) * geometry_.dim, "the source");
  if (c.kind == Kind::store_spad) {
    if (c.second.at.garbage() || c.second.at.accumulator()) refuse(c, "its destination must be in the scratchpad");
    if (blocks > 1) refuse(c, "one block of columns goes to the scratchpad at a time");
    if (full && !geometry_.floating) refuse(c, "full-width entries don't fit scratchpad rows");
    check_rows(geometry_, c, c.second.at, static_cast<int64_t>(std::max(from.rows - 1, 0)) * c.spad_stride + 1,
               "the destination");
  }
}

void Decoder::check_preload(const Command& c) {
  if (strict_ && preload_waits_) refuse(c, "the preload before it has had no compute");
  check_dims(geometry_, c, c.first, "the preloaded operand");
  check_dims(geometry_, c, c.second, "C");
  if (!c.first.at.garbage() && c.first.columns > 0) {
    // B is stored transposed: as many rows as it has columns.
    const bool turned = c.execute.weight_stationary && c.execute.b_transpose;
    check_rows(geometry_, c, c.first.at, turned ? c.first.columns : c.first.rows, "the preloaded operand");
  }
  c_ = c.second;
  check_result(c);
  preload_waits_ = true;
  preloaded_once_ = true;
  preload_is_garbage_ = c.first.at.garbage();
}

// C's stride is the one that holds when its compute comes: a config_ex may have changed it since the preload.
void Decoder::check_result(const Command& c) const {
  if (c_.at.garbage() || c_.rows == 0 || c_.columns == 0) return;
  check_rows(geometry_, c, c_.at, static_cast<int64_t>(c_.rows - 1) * c.execute.c_stride + 1, "C");
}

void Decoder::check_compute(const Command& c) {
  const ExecuteConfig& ex = c.execute;
  check_dims(geometry_, c, c.first, "A");
  check_dims(geometry_, c, c.second, ex.weight_stationary ? "D" : "B");
  if (!preloaded_once_) refuse(c, "no preload has said where its result goes");
  if (strict_ && !preload_waits_) refuse(c, "every compute takes a preload of its own");
  preload_waits_ = false;
  check_result(c);
  if (!c.first.at.garbage() && c.first.rows > 0 && c.first.columns > 0)
    check_rows(geometry_, c, c.first.at,
               static_cast<int64_t>((ex.a_transpose ? c.first.columns : c.first.rows) - 1) * ex.a_stride + 1, "A");
  if (!c.second.at.garbage() && c.second.columns > 0) {
    const bool turned = !ex.weight_stationary && ex.b_transpose;
    check_rows(geometry_, c, c.second.at, turned ? c.second.columns : c.second.rows, ex.weight_stationary ? "D" : "B");
  }
  // Kept weights: only as many rows are fed as A or D have (ExecuteController.scala); rows of C past them stay as they were.
  if (strict_ && ex.weight_stationary && preload_is_garbage_ && !ex.a_transpose) {
    const int fed = std::max({c.first.at.garbage() ? 0 : c.first.rows, c.second.at.garbage() ? 0 : c.second.rows, 4});
    if (!c_.at.garbage() && c_.rows > fed)
      refuse(c, "C has " + number(c_.rows) + " rows, but a step with kept weights feeds " + number(fed));
  }
}

// --- ranges -------------------------------------------------------------------------------------------------------

namespace {

int ceil_blocks(int columns, int dim) { return (columns + dim - 1) / dim; }

RowRange range(LocalAddress at, int64_t span) {
  RowRange r;
  if (at.garbage() || span <= 0) return r;
  r.accumulator = at.accumulator();
  r.start = at.row();
  r.end = static_cast<uint32_t>(r.start + span);
  return r;
}

}  // namespace

int load_blocks(const Geometry& g, const Command& load) { return ceil_blocks(load.first.columns, g.dim); }
int store_blocks(const Geometry& g, const Command& store) { return ceil_blocks(store.first.columns, g.dim); }

uint32_t repeat_floor(const Geometry& g, uint32_t row) {
  const uint32_t half = static_cast<uint32_t>(g.rows() / 2);
  return row < half ? 0 : half;
}

RowRange written_by_load(const Geometry& g, const Command& c) {
  RowRange r = range(c.first.at, c.first.rows + static_cast<int64_t>(load_blocks(g, c) - 1) * c.load.block_stride);
  const uint32_t lower = static_cast<uint32_t>(c.load.pixel_repeats - 1);
  const uint32_t floor = repeat_floor(g, r.start);
  r.start = r.start > floor + lower ? r.start - lower : floor;
  return r;
}

RowRange read_by_store(const Geometry& g, const Command& c) {
  if (c.kind == Kind::store && c.store.pooling()) {
    const int rows = c.first.at.accumulator() ? g.accumulator_bank_rows : g.bank_rows;
    RowRange r = range(c.first.at, 1);
    r.end = (r.start / rows + 1) * rows;
    return r;
  }
  return range(c.first.at, c.first.rows + static_cast<int64_t>(store_blocks(g, c) - 1) * g.dim);
}

// The hardware takes the rows field of B and D alone; where B is stored turned and has more columns than rows that
// misses rows which are read. The larger of both is taken here: a hazard that hardware has by mistake isn't modelled.
RowRange read_by_preload(const Geometry&, const Command& c) {
  const bool turned = c.execute.weight_stationary && c.execute.b_transpose;
  return range(c.first.at, turned ? std::max(c.first.rows, c.first.columns) : c.first.rows);
}

RowRange written_by_preload(const Geometry&, const Command& c) {
  return range(c.second.at, static_cast<int64_t>(c.second.rows) * c.execute.c_stride);
}

RowRange a_of_compute(const Geometry&, const Command& c) {
  return range(c.first.at,
               static_cast<int64_t>(c.execute.a_transpose ? c.first.columns : c.first.rows) * c.execute.a_stride);
}

RowRange second_of_compute(const Geometry&, const Command& c) {
  const bool turned = !c.execute.weight_stationary && c.execute.b_transpose;
  return range(c.second.at, turned ? std::max(c.second.rows, c.second.columns) : c.second.rows);
}

RowRange written_by_store_spad(const Geometry&, const Command& c) {
  return range(c.second.at, static_cast<int64_t>(std::max(c.second.rows - 1, 0)) * c.spad_stride + 1);
}

}  // namespace strop::gemmini
