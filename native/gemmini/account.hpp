// Where the cycles went. Every cycle between start and end is exactly one of the six classes, by this precedence:
//   execute  the array took a row, or two operands of one bank took turns for it
//   then, of the oldest command that the array waits for:
//   load     it waits for a load, or a load took the bank that feeds it; or a full load queue keeps commands away
//   store    the same of stores
//   fill     the array itself: results on their way (drain before a config, hazards, tags), its pipeline filling
//   and where no command for the array is in the machine:
//   fence    the core waits in a fence: the class of what is still under way (load, store, fill), else fence
//   host     everything else: the core has not sent the next command
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gemmini/command.hpp"
#include "gemmini/reservation_station.hpp"
#include "gemmini/timing.hpp"

namespace strop::gemmini {

enum class Spent : uint8_t { host, load, execute, store, fence, fill, count };
constexpr int kSpent = static_cast<int>(Spent::count);
const char* name_of(Spent spent);

struct UnitCounters {  // of gemmini_counter.h, where the machine has them, and more
  uint64_t load_active = 0, load_dma_wait = 0, load_scratchpad_wait = 0, store_active = 0, store_wait = 0, execute_active = 0,
           execute_flush = 0, control_queue_block = 0, preload_hazard = 0, overlap_hazard = 0, reader_active = 0,
           reader_no_id = 0, writer_active = 0, writer_no_id = 0, station_active = 0, station_full = 0, bus_wait = 0;
};

struct WaitKey {
  uint64_t pc = 0, cause_pc = 0;
  uint8_t funct = 0;
  Wait wait = Wait::none;
  auto operator<=>(const WaitKey&) const = default;
};
struct WaitSum {
  uint64_t cycles = 0, count = 0, longest = 0, index = 0, cause_index = 0;  // the indices: of the longest
};

struct TimelineEvent {
  uint8_t unit = 0;          // Queue, or 3: fence
  uint8_t funct = 0;
  Origin origin;
  Cycle allocated = 0, issued = 0, end = 0;
  Origin cause;
  Wait wait = Wait::none;
};

class Account {
 public:
  void reset(size_t most_events);
  size_t most_events() const { return most_events_; }

  void spend(Spent spent, uint64_t cycles, uint64_t pc, uint8_t funct) {
    total[static_cast<int>(spent)] += cycles;
    if (pc != last_pc_ || last_ == nullptr) {
      last_ = &by_pc[pc];
      last_pc_ = pc;
    }
    (*last_)[static_cast<int>(spent)] += cycles;
    by_funct[funct & 127][static_cast<int>(spent)] += cycles;
  }
  void issued(const Entry& entry, Cycle now);
  void completed(const Entry& entry, int queue, Cycle now);
  void waited(const WaitKey& key, uint64_t cycles, uint64_t index, uint64_t cause_index);
  void fence(Cycle start, Cycle end, uint64_t pc, uint64_t index);

  std::array<uint64_t, kSpent> total{};
  std::map<uint64_t, std::array<uint64_t, kSpent>> by_pc;
  std::array<std::array<uint64_t, kSpent>, 128> by_funct{};
  std::map<WaitKey, WaitSum> waits;
  std::vector<TimelineEvent> events;
  uint64_t events_dropped = 0;
  UnitCounters counters;

 private:
  size_t most_events_ = 0;
  uint64_t last_pc_ = 0;
  std::array<uint64_t, kSpent>* last_ = nullptr;
};

}  // namespace strop::gemmini
