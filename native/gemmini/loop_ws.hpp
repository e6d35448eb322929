// The matmul unroller (LoopMatmul.scala): two loops of which one may load while the other computes, five makers of
// commands, one command out a cycle. The untimed executor and the timed machine drive this one generator:
//   const Plain* command = loops.offer(...);   // at the start of a cycle; null: nothing to give
//   loops.tick(accepted);                      // at its end
#pragma once

#include <cstdint>

#include "gemmini/command.hpp"

namespace strop::gemmini {

// A command that an unroller makes, still undecoded.
struct Plain {
  uint8_t funct = 0;
  Unit unit = Unit::none;
  uint64_t rs1 = 0, rs2 = 0;
  int spare_rows = 0;  // see Command
  Origin origin;       // of the loop command; `unrolled` counts from 1
};

// What is full: no command of that type may be offered (in-flight caps: the reservation station's sizes).
struct Full {
  bool load = false, store = false, execute = false;
};

class LoopWs {
 public:
  explicit LoopWs(const Geometry& geometry);
  void reset();

  bool busy() const { return loops_[0].configured || loops_[1].configured; }
  // Whether a setting or loop_ws can be taken now; ordinary commands pass only while !busy().
  bool can_take() const { return !loops_[0].configured || !loops_[1].configured; }
  // `command` is a loop_ws_setting or loop_ws. Throws rocket::Trap{illegal_command} for a loop that doesn't fit.
  void take(const Command& command);

  const Plain* offer(const Full& full);
  void tick(bool accepted);

 private:
  struct Loop {
    uint32_t i = 0, j = 0, k = 0, pad_i = 0, pad_j = 0, pad_k = 0;
    uint64_t a = 0, b = 0, c = 0, d = 0, a_stride = 0, b_stride = 0, c_stride = 0, d_stride = 0;
    uint32_t c_spad = 0;
    bool next_half = false, spad_only = false, a_transpose = false, b_transpose = false, low_d = false, full_c = false,
         accumulate = false;
    int activation = 0, a_id = 0, b_id = 0;
    uint32_t a_start = 0, b_end = 0, sum_start = 0;
    Origin origin;
    uint32_t made = 0;  // commands so far
    bool configured = false, running = false;
    bool started[5] = {}, completed[5] = {};  // by Maker
  };
  enum Maker { kA, kB, kD, kEx, kC };
  // A maker's registers: the request it works on, copied when it started.
  struct Work {
    bool idle = true;
    int loop = 0;
    Loop of;                        // with i, j, k as this maker uses them
    uint32_t start = 0;             // first row of its operand
    uint32_t a_start = 0, b_start = 0;
    uint32_t i = 0, j = 0, k = 0;
    bool computing = false;         // execute: the preload went, its compute comes
    bool to_spad = false;           // store: MVOUT_SPAD
    uint32_t row = 0, command = 0, stat = 0;  // store: of a normalising loop
    bool configuring = false;
  };

  bool valid(Maker maker, const Full& full) const;
  bool chooses_a() const;
  bool executable(const Work& ex) const;
  bool storable(const Work& store) const;
  void make(Maker maker);
  void make_load(const Work& w, uint8_t funct, uint64_t base, uint64_t stride, int element_bytes, int blocks_most,
                 uint32_t row, uint32_t column, uint32_t rows, uint32_t columns, uint32_t row_pad, uint32_t column_pad,
                 uint32_t address_bits);
  void make_execute(const Work& w);
  void make_store(const Work& w);
  void advance(Maker maker);
  bool advance_execute(Work& w);
  bool advance_store(Work& w);
  bool empty(Maker maker) const;
  bool wants(Maker maker, const Loop& loop) const;
  void start(Maker maker, int loop);
  uint32_t blocks(uint32_t most, uint32_t column, uint32_t columns) const;
  uint32_t half(uint32_t row) const;
  bool normalising(const Work& w) const;

  const Geometry geometry_;
  Loop loops_[2];
  Work work_[5];
  int head_ = 0;
  bool sum_ = false;  // residual addition; one register for both loops
  uint32_t d_half_ = 0, ex_half_ = 0, c_half_ = 0;
  Plain plain_;
  Maker offered_ = kA;
};

}  // namespace strop::gemmini
