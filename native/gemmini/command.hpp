// Decoded commands. Each carries the configuration that holds for it in program order, so that whoever executes it,
// now or many cycles later, needs nothing else.
#pragma once

#include <cstdint>
#include <string>

#include "gemmini/parameters.hpp"

namespace strop::gemmini {

// The funct field of the RoCC instruction (GemminiISA.scala).
enum Funct : uint8_t {
  kConfig = 0, kLoad2 = 1, kLoad = 2, kStore = 3, kComputePreloaded = 4, kComputeAccumulated = 5, kPreload = 6,
  kFlush = 7, kLoopWs = 8, kLoopWsBounds = 9, kLoopWsAddressesAB = 10, kLoopWsAddressesDC = 11,
  kLoopWsStridesAB = 12, kLoopWsStridesDC = 13, kLoad3 = 14, kLoopConv = 15, kLoopConv1 = 16, kLoopConv2 = 17,
  kLoopConv3 = 18, kLoopConv4 = 19, kLoopConv5 = 20, kLoopConv6 = 21, kClockGate = 22, kStoreSpad = 23,
  kLoopWsSpadAB = 24, kLoopWsSpadC = 25, kCounter = 126,
};

enum class Kind : uint8_t {
  config_execute, config_load, config_store, config_norm,
  load, store, store_spad, preload, compute_preloaded, compute_accumulated,
  flush, clock_gate, counter,
  loop_ws_setting, loop_ws,      // settings: functs 9 to 13, 24, 25
  loop_conv_setting, loop_conv,  // settings: functs 16 to 21
};

// Whose queue of the reservation station a command goes to; `none` is answered before it.
enum class Unit : uint8_t { none, load, store, execute };

enum class Activation : uint8_t { none = 0, relu = 1, layernorm = 2, igelu = 3, softmax = 4 };
enum class NormCommand : uint8_t { reset, sum, mean, variance, inverse_stddev, max, sum_exp, inverse_sum_exp };

// A word that names a row of one of the two memories (LocalAddr.scala).
struct LocalAddress {
  uint32_t word = 0xFFFFFFFF;

  static constexpr uint32_t kGarbage = 0xFFFFFFFF, kAccumulator = 0x80000000, kAccumulate = 0x40000000,
                            kFullWidth = 0x20000000;
  bool garbage() const { return word == kGarbage; }
  bool accumulator() const { return (word & kAccumulator) != 0; }
  bool accumulate() const { return (word & kAccumulate) != 0; }
  bool full_width() const { return (word & kFullWidth) != 0; }
  NormCommand norm() const { return static_cast<NormCommand>((word >> 26) & 7); }
  uint32_t row() const { return word & 0x03FFFFFF; }
};

struct Operand {
  LocalAddress at;
  int columns = 0, rows = 0;
};

struct LoadConfig {
  uint64_t stride = 0;         // bytes between rows of memory; 0 repeats the first row
  int block_stride = 0;        // rows between blocks of dim columns
  uint32_t scale_bits = 0x3F800000;
  bool shrink = false;         // elements, not accumulator entries, are moved into the accumulator
  int pixel_repeats = 1;
};

struct StoreConfig {
  uint32_t stride = 0;
  uint32_t scale_bits = 0x3F800000;
  Activation activation = Activation::none;
  int pool_stride = 0, pool_size = 0, pool_up = 0, pool_left = 0, pool_out_columns = 0;
  int pool_rows = 0, pool_columns = 0, out_rows = 0, out_columns = 0;
  bool pooling() const { return pool_stride != 0; }
};

struct NormConfig {
  int stat = 0;
  int32_t qb = 0, qc = 0, qln2 = 0, qln2_inverse = 0;
};

struct ExecuteConfig {
  bool weight_stationary = false;
  Activation activation = Activation::none;  // none or relu, of results that go to the scratchpad
  bool a_transpose = false, b_transpose = false;
  int a_stride = 1, c_stride = 1;
  int shift = 0;                             // of results, output-stationary only
  uint32_t scale_bits = 0x3F800000;          // of operands that are read from the accumulator
};

// Where a command came from, for messages and accounts.
struct Origin {
  uint64_t index = 0;     // of the RoCC command, from 0
  uint64_t pc = 0;
  uint32_t unrolled = 0;  // 1, 2, ... for a command that a loop command made; 0 for the program's own
};

struct Command {
  Kind kind = Kind::flush;
  Unit unit = Unit::none;
  uint8_t funct = 0;
  uint64_t rs1 = 0, rs2 = 0;
  Origin origin;

  uint64_t address = 0;  // load, store: in memory (0 in a load: zeros)
  int state_id = 0;      // load, config_load: 0 to 2
  Operand first;         // load: destination; store: source; preload: B (WS) or D (OS); compute: A
  // load: of `first.rows` the last so many are fetched for nothing, by a mistake of loop_ws (its makers' tiles of B run
  // past a padded edge). They take their time on the bus, but no memory is read and no row written.
  int spare_rows = 0;
  Operand second;        // preload: C; compute: D (WS) or B (OS); store_spad: destination
  uint32_t spad_stride = 0;  // store_spad: rows between destination rows

  // What holds for this command: of its unit's configuration only that field is filled in.
  LoadConfig load;
  StoreConfig store;
  NormConfig norm;
  ExecuteConfig execute;
};

const char* name_of(Kind kind, uint8_t funct);  // "mvin2", "compute_preloaded", ...

// "mvin2 (command 17, at 0x80000124)", or "mvin (step 9 of loop_ws, command 17, at 0x80000124)".
std::string describe(const Command& command);

// Throws rocket::Trap{illegal_command} with describe(command) + ": " + why.
[[noreturn]] void refuse(const Command& command, const std::string& why);

// Program order: keeps the configurations, decodes, and checks what can be known without the memories' contents.
class Decoder {
 public:
  // `strict` also refuses what the functional model tolerates but hardware does not promise.
  Decoder(const Geometry& geometry, bool strict) : geometry_(geometry), strict_(strict) {}

  // Throws rocket::Trap{illegal_command}. The loop commands and their settings come back undecoded (rs1, rs2).
  Command decode(uint8_t funct, uint64_t rs1, uint64_t rs2, const Origin& origin);
  void reset() { *this = Decoder(geometry_, strict_); }
  const StoreConfig& store_config() const { return store_; }  // loop_conv restores it after pooling

 private:
  void configure(Command& command);
  void check_load(const Command& command) const;
  void check_store(const Command& command) const;
  void check_preload(const Command& command);
  void check_compute(const Command& command);
  void check_result(const Command& command) const;

  Geometry geometry_;
  bool strict_;
  LoadConfig load_[3];
  StoreConfig store_;
  NormConfig norm_;
  ExecuteConfig execute_;
  bool preload_waits_ = false;  // a preload whose compute has not come
  bool preloaded_once_ = false;
  bool preload_is_garbage_ = false;
  Operand c_;  // the latest preload's
};

// --- ranges of rows, for the reservation station and for checks ---------------------------------------------------
// [start, end) of one memory, without wrapping; empty for garbage.
struct RowRange {
  bool accumulator = false;
  uint32_t start = 0, end = 0;
  bool empty() const { return start >= end; }
  bool overlaps(const RowRange& other) const {
    return !empty() && !other.empty() && accumulator == other.accumulator && start < other.end && other.start < end;
  }
};

int load_blocks(const Geometry& geometry, const Command& load);   // of dim columns
int store_blocks(const Geometry& geometry, const Command& store);
// The conservative ranges that the reservation station compares (ReservationStation.scala): multi-block transfers as
// one span, A as rows * a_stride, C as rows * c_stride, a pooling store to the end of its accumulator bank.
RowRange written_by_load(const Geometry& geometry, const Command& load);
RowRange read_by_store(const Geometry& geometry, const Command& store);
RowRange read_by_preload(const Geometry& geometry, const Command& preload);
RowRange written_by_preload(const Geometry& geometry, const Command& preload);  // by its compute, that is
RowRange a_of_compute(const Geometry& geometry, const Command& compute);
RowRange second_of_compute(const Geometry& geometry, const Command& compute);
RowRange written_by_store_spad(const Geometry& geometry, const Command& store);
// Repeated pixels go to rows below, but not below the half of the scratchpad that `row` is in (PixelRepeater.scala).
uint32_t repeat_floor(const Geometry& geometry, uint32_t row);

}  // namespace strop::gemmini
