// The performance counters that the COUNTER command reads (CounterFile.scala): eight, each counting one event or
// showing one value kept elsewhere.
#pragma once

#include <cstdint>

namespace strop::gemmini {

enum class Event : uint8_t {
  disable = 0, load_cycles, store_cycles, execute_cycles, load_store_cycles, load_execute_cycles,
  store_execute_cycles, all_cycles, load_dma_wait, load_active, load_scratchpad_wait, store_dma_wait, store_active,
  store_pooling, store_scratchpad_wait, tlb_miss, tlb_hit, tlb_total, read_dma_active, read_dma_tlb_wait,
  read_dma_bus_wait, write_dma_active, write_dma_tlb_wait, write_dma_bus_wait, execute_active, execute_flush,
  execute_control_blocked, execute_preload_hazard, execute_overlap_hazard, scratchpad_a_wait, scratchpad_b_wait,
  scratchpad_d_wait, accumulator_a_wait, accumulator_b_wait, accumulator_d_wait, a_garbage, b_garbage, d_garbage,
  im2col_memory, im2col_active, im2col_transposer_wait, station_full, station_active, loop_matmul_active,
  transpose_preload_active,
};
constexpr int kEvents = 45;

// Values: the first three are levels, the others sums that a counter reset clears.
enum class Shown : uint8_t {
  disable = 0, station_loads, station_stores, station_executes, bytes_read, bytes_written, read_latency, write_latency,
};

class Counters {
 public:
  static constexpr int kCounters = 8;

  void reset() { *this = Counters(); }
  void count(Event event, uint64_t times = 1) {
    if (counted_ >> static_cast<int>(event) & 1) add(event, times);
  }
  bool counting() const { return counted_ != 0 || shows_; }
  void set(Shown shown, uint32_t level) { shown_[static_cast<int>(shown)] = level; }
  void add(Shown shown, uint64_t n) { shown_[static_cast<int>(shown)] += static_cast<uint32_t>(n); }

  // The COUNTER command. Reads before it resets, snapshots or configures, as the hardware does.
  uint32_t access(uint64_t rs1);

 private:
  void add(Event event, uint64_t times);
  uint32_t value(int counter, bool shown) const {
    return shown ? shown_[config_[counter] & 7] : counter_[counter];
  }

  uint32_t counter_[kCounters] = {}, snapshot_[kCounters] = {}, shown_[8] = {};
  uint8_t config_[kCounters] = {};
  bool external_[kCounters] = {};
  bool snapshot_on_ = false;
  uint64_t counted_ = 0;  // a bit for each event that some counter counts
  bool shows_ = false;    // a counter was set to show a value
};

}  // namespace strop::gemmini
