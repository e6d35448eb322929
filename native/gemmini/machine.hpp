// The timed machine: the accelerator stepped cycle by cycle, skipping stretches in which only latencies pass.
// Function and time share one truth: rows of the local memories are written in the cycle in which the model writes
// them, memory is read when a packet is served and written when its last beat is taken.
#pragma once

#include <cstdint>
#include <vector>

#include "gemmini/account.hpp"
#include "gemmini/counters.hpp"
#include "gemmini/execute_unit.hpp"
#include "gemmini/front_end.hpp"
#include "gemmini/load_unit.hpp"
#include "gemmini/memory_system.hpp"
#include "gemmini/reservation_station.hpp"
#include "gemmini/state.hpp"
#include "gemmini/store_unit.hpp"
#include "gemmini/timing.hpp"
#include "rocket/coprocessor.hpp"
#include "rocket/memory.hpp"

namespace strop::gemmini {

class TimedMachine final : public rocket::Coprocessor {
 public:
  // Throws std::invalid_argument for bad values. `memory` must outlive the machine.
  TimedMachine(rocket::Memory& memory, const NamedValues& values, bool strict, uint8_t poison = 0xA5);
  TimedMachine(const TimedMachine&) = delete;
  TimedMachine& operator=(const TimedMachine&) = delete;

  // All state as after power-up: local memories poisoned, the cache cold, the account empty, the clock at 0.
  void reset(size_t most_events = 0);

  rocket::Accepted issue(const rocket::RoccCommand& command) override;
  void advance(uint64_t cycle) override;
  bool busy() const override;
  uint64_t drain(uint64_t cycle) override;

  // Forgets what was accounted so far: the clock of an account starts here. Contents and queues stay.
  void start_account(uint64_t cycle);

  // Before the clock starts: what the core has just written is in the cache.
  void warm(uint64_t address, uint64_t bytes) { cache_.warm(address, bytes); }

  State& state() { return state_; }
  const State& state() const { return state_; }
  const Timing& timing() const { return timing_; }
  Account& account() { return account_; }
  const LoadUnit& loads() const { return loads_; }
  const StoreUnit& stores() const { return stores_; }
  const ExecuteUnit& executes() const { return executes_; }
  const Tlb& tlb() const { return tlb_; }
  const MemorySystem& cache() const { return cache_; }
  Cycle now() const { return now_; }
  uint64_t commands() const { return commands_; }

 private:
  bool step(Cycle now);          // whether anything changed
  bool bus(Cycle now);
  bool station(Cycle now);
  Cycle next(Cycle now) const;
  void run_to(Cycle cycle);
  void step_and_skip(Cycle most);
  void classify(uint64_t cycles);
  void blame(Spent spent, int slot, uint64_t cycles);
  void count_events(uint64_t cycles);
  uint32_t counter(uint64_t rs1);

  const Geometry geometry_;
  const Timing timing_;
  State state_;
  rocket::Memory& memory_;
  FrontEnd front_;
  ReservationStation station_;
  Tlb tlb_;
  LoadUnit loads_;
  StoreUnit stores_;
  ExecuteUnit executes_;
  MemorySystem cache_;
  Account account_;
  Counters counters_;
  uint64_t bytes_read_ = 0, bytes_written_ = 0, packets_ = 0, walks_ = 0;  // of the units, when counters_ was last told
  Ports ports_;
  Cycle now_ = 0;                // the next cycle to simulate: all before it are done
  bool fencing_ = false;
  bool writes_turn_ = false;     // of the two users of channel A
  bool in_burst_ = false;
  bool station_blocked_ = false;
  bool read_held_ = false, write_held_ = false;  // has something for channel A, which carries another's
  uint64_t commands_ = 0;
  Origin last_;
  uint8_t last_funct_ = 0;
};

}  // namespace strop::gemmini
