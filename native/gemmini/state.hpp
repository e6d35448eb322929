// The scratchpad, the accumulator and the array, and what each row says of itself: which columns were ever written,
// when it is ready, and what it descends from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "gemmini/command.hpp"
#include "gemmini/parameters.hpp"

namespace strop::gemmini {

constexpr uint8_t kFromArray = 1;  // provenance of what the array computed (rocket::kArrayComputed)

// Rows of one of the two memories. Accumulator entries are int32 or float32 by their bits.
class LocalMemory {
 public:
  LocalMemory(int rows, int row_bytes)
      : rows_(rows), row_bytes_(row_bytes), bytes_(static_cast<size_t>(rows) * row_bytes), written_(rows),
        provenance_(rows), ready_(rows) {}

  void reset(uint8_t poison) {
    std::memset(bytes_.data(), poison, bytes_.size());
    std::fill(written_.begin(), written_.end(), 0);
    std::fill(provenance_.begin(), provenance_.end(), 0);
    std::fill(ready_.begin(), ready_.end(), 0);
  }

  int rows() const { return rows_; }
  int row_bytes() const { return row_bytes_; }
  uint8_t* row(uint32_t r) { return &bytes_[static_cast<size_t>(r) * row_bytes_]; }
  const uint8_t* row(uint32_t r) const { return &bytes_[static_cast<size_t>(r) * row_bytes_]; }
  uint32_t written(uint32_t r) const { return written_[r]; }  // a bit for each column
  uint8_t provenance(uint32_t r) const { return provenance_[r]; }
  uint64_t ready(uint32_t r) const { return ready_[r]; }      // the first cycle at which it may be read

  // Columns of row `r` were written over, or added to. One mask stands for a row: a partial overwrite keeps what it was.
  void note_overwritten(uint32_t r, uint32_t columns, uint8_t provenance, uint64_t ready) {
    written_[r] |= columns;
    provenance_[r] = columns == written_[r] ? provenance : static_cast<uint8_t>(provenance_[r] | provenance);
    if (ready > ready_[r]) ready_[r] = ready;
  }
  void note_accumulated(uint32_t r, uint32_t columns, uint8_t provenance, uint64_t ready) {
    written_[r] |= columns;
    provenance_[r] = static_cast<uint8_t>(provenance_[r] | provenance);
    if (ready > ready_[r]) ready_[r] = ready;
  }

 private:
  int rows_, row_bytes_;
  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> written_;
  std::vector<uint8_t> provenance_;
  std::vector<uint64_t> ready_;
};

// One operand inside the array: weights (WS) or running sums (OS), int32 or float32 by bits.
struct Plane {
  int32_t value[kMaxDim * kMaxDim] = {};
  uint8_t provenance = 0;
  bool filled = false;
  int rows = 0, columns = 0;  // of the operand in it; outside it is zero
};

// The two planes of the array: preload fills `next`, compute_preloaded makes it `current`.
struct Array {
  Plane planes[2];
  int current = 0;
  bool next_filled = false;
  // The latest preload's C: where results go.
  Operand result;
  Plane& now() { return planes[current]; }
  Plane& next() { return planes[1 - current]; }
};

struct NormStatistics {
  int32_t sum = 0, running_max = 0, max = 0, count = 0, mean = 0;
  float inverse_stddev = 0, inverse_sum_exp = 0;
  bool reset = true;
};

// What was done, for the work floor and for counters.
struct Work {
  uint64_t macs = 0;           // multiply-adds of elements inside all operands' dimensions
  uint64_t steps = 0;          // computes
  uint64_t load_bytes = 0, store_bytes = 0;
  uint64_t loads = 0, stores = 0, preloads = 0, zero_rows = 0;
};

struct State {
  // `strict`: reading what was never written is refused; otherwise `poison` is read.
  State(const Geometry& geometry, bool strict, uint8_t poison = 0xA5)
      : geometry(geometry), strict(strict), poison(poison), scratchpad(geometry.rows(), geometry.row_bytes()),
        accumulator(geometry.accumulator_rows(), geometry.accumulator_row_bytes()), norm(geometry.norm_stats) {
    reset();
  }

  void reset() {
    scratchpad.reset(poison);
    accumulator.reset(poison);
    array = Array();
    for (Plane& plane : array.planes) std::memset(plane.value, poison, sizeof plane.value);
    std::fill(norm.begin(), norm.end(), NormStatistics());
    work = Work();
  }

  const Geometry geometry;
  const bool strict;
  uint8_t poison;
  LocalMemory scratchpad, accumulator;
  Array array;
  std::vector<NormStatistics> norm;
  Work work;
};

// --- load (load.cpp): a row of memory becomes one row of each block -----------------------------------------------
int load_row_bytes(const Geometry& geometry, const Command& load);
int load_block_bytes(const Geometry& geometry, const Command& load, int block);
uint64_t load_row_address(const Command& load, int row);
inline int used_rows(const Command& load) { return load.first.rows - load.spare_rows; }  // memory is read for these only
// Writes one block of row `row`; `bytes` is that block's part of the memory row, null for zeros. Scales, saturates,
// repeats pixels, overwrites or accumulates.
void write_load_block(State& state, const Command& load, int row, int block, const uint8_t* bytes, uint8_t provenance,
                      uint64_t ready);
void write_load_row(State& state, const Command& load, int row, const uint8_t* bytes, uint8_t provenance,
                    uint64_t ready);

// --- store (store.cpp) --------------------------------------------------------------------------------------------
uint64_t store_row_address(const Command& store, int row);
int store_block_bytes(const Geometry& geometry, const Command& store, int block);  // of one row of one block
int store_block_offset(const Geometry& geometry, const Command& store, int block); // from the row's address
// Reads one block of one row at cycle `now` into `out` (at most 64 bytes): scaled and activated, or raw. Returns the
// bytes to write, 0 for a norm command that only gathers statistics. `provenance` gains what the row descends from.
int read_store_block(State& state, const Command& store, int row, int block, uint64_t now, uint8_t* out,
                     uint8_t& provenance);
// Pooling: one output pixel at a time, or one element of its window at a time (`running` holds the maxima, which the
// first element of the window starts). Padding counts as 0.
uint64_t pool_address(const Command& store, int pool_row, int pool_column);
int pool_bytes(const Geometry& geometry, const Command& store);  // of an output pixel
void read_pool_element(State& state, const Command& store, int pool_row, int pool_column, int window_row,
                       int window_column, uint64_t now, uint8_t* running, uint8_t& provenance);
int read_pool_pixel(State& state, const Command& store, int pool_row, int pool_column, uint64_t now, uint8_t* out,
                    uint8_t& provenance);
// MVOUT_SPAD: one row from either memory into the scratchpad.
void copy_spad_row(State& state, const Command& store, int row, uint64_t now, uint64_t ready);

// --- execute (execute.cpp) ----------------------------------------------------------------------------------------
// What one step of the array leaves behind; rows go out one by one with write_result_row.
struct StepResult {
  LocalAddress at;            // garbage: nothing is written
  int rows = 0, columns = 0, stride = 1;
  bool relu = false;
  uint8_t provenance = 0;
  int32_t value[kMaxDim * kMaxDim];  // [row][column], already shifted and clipped as leaves the array
};
// Reads B (WS) or D (OS) into the plane that the next compute_preloaded uses, and latches C.
void feed_preload(State& state, const Command& preload, uint64_t now);
// Reads A and D (WS) or B (OS) at `now`, steps, and gives the results for the latest preload's C.
void compute(State& state, const Command& compute, uint64_t now, StepResult& result);
// Strict: refuses results that are added to entries which were never written. Called before the rows are.
void require_result_rows(const State& state, const Command& compute, const StepResult& result);
void write_result_row(State& state, const StepResult& result, int row, uint64_t ready);

// Strict: refuses columns (a mask) of a row that were never written. `verb` is "reads" or "adds to".
void require_written(const State& state, const LocalMemory& memory, uint32_t row, uint32_t columns,
                     const Command& reader, const char* verb);
// Adds int32 or float32 entries to an accumulator row.
void add_to_row(const Geometry& geometry, uint8_t* row, const int32_t* value, int columns);
// The norm command of a store, for one block of a row; whether the row is written to memory as well (normalise.cpp).
bool gather_statistics(State& state, const Command& store, uint32_t row, int columns, bool last_block);

// A row that is read before it is ready is a fault of the timed machine, never a speed-up: std::logic_error.
void require_ready(const LocalMemory& memory, uint32_t row, uint64_t now, const Command& reader);

}  // namespace strop::gemmini
