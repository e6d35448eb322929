// The untimed executor: takes each command at once and does it at once.
#pragma once

#include <cstdint>

#include "gemmini/command.hpp"
#include "gemmini/counters.hpp"
#include "gemmini/loop_conv.hpp"
#include "gemmini/loop_ws.hpp"
#include "gemmini/state.hpp"
#include "rocket/coprocessor.hpp"
#include "rocket/memory.hpp"

namespace strop::gemmini {

class Functional : public rocket::Coprocessor {
 public:
  // `strict`: as the judge runs; otherwise never-written rows read as `poison`. Memory must outlive this.
  Functional(const Geometry& geometry, rocket::Memory& memory, bool strict, uint8_t poison = 0xA5);

  void reset();
  // Does one command; what COUNTER reads, else 0. Throws rocket::Trap: illegal_command, dma_read_access or
  // dma_write_access, with a text that names the command, its index and its pc.
  uint64_t execute(uint8_t funct, uint64_t rs1, uint64_t rs2, uint64_t pc = 0);

  rocket::Accepted issue(const rocket::RoccCommand& command) override;
  void advance(uint64_t) override {}
  bool busy() const override { return false; }
  uint64_t drain(uint64_t cycle) override { return cycle; }

  // Without time nothing else bounds what one command may cost: past so many rows moved and fed, the next is refused.
  void limit_rows(uint64_t most) { most_rows_ = most; }

  State& state() { return state_; }
  uint64_t commands() const { return index_; }  // executed so far, those of loops not counted

 private:
  uint64_t rows_of(const Command& command) const;
  void run(const Command& command);
  void run_plain(const Plain& plain);
  void load(const Command& command);
  void store(const Command& command);
  void pool(const Command& command);
  void step(const Command& command);

  rocket::Memory& memory_;
  State state_;
  Decoder decoder_;
  LoopWs loop_ws_;
  LoopConv loop_conv_;
  // Without time an event's "cycle" is one row: moved, fed to the array or stored.
  Counters counters_;
  StepResult result_;
  uint64_t index_ = 0;
  uint64_t rows_ = 0, most_rows_ = uint64_t{1} << 34;
};

}  // namespace strop::gemmini
