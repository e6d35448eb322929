// The COUNTER command of the timed machine: which of its signals are which events (the connectEventSignal lines of the
// controllers, DMA.scala and Controller.scala). Events that this machine has no signal for read 0: waits for the page
// walk (19, 22), operands that an array waits for or that are garbage (29 to 37) and im2col (38 to 40).
#include "gemmini/machine.hpp"

namespace strop::gemmini {

void TimedMachine::count_events(uint64_t cycles) {
  const auto during = [&](Event event, bool happens) {
    if (happens) counters_.count(event, cycles);
  };
  const bool load = loads_.commanded(), store = stores_.commanded(), execute = executes_.busy();
  if (load || store || execute) {
    static constexpr Event kBusy[] = {Event::disable, Event::load_cycles, Event::store_cycles, Event::load_store_cycles,
                                      Event::execute_cycles, Event::load_execute_cycles, Event::store_execute_cycles,
                                      Event::all_cycles};
    counters_.count(kBusy[load | store << 1 | execute << 2], cycles);
  }
  during(Event::load_dma_wait, loads_.wait == Wait::dma_ids);
  during(Event::load_active, loads_.sending());
  during(Event::load_scratchpad_wait, loads_.wait == Wait::memory || loads_.wait == Wait::bank);
  during(Event::store_dma_wait, stores_.wait == Wait::dma_ids);
  during(Event::store_active, stores_.active);
  during(Event::store_pooling, stores_.pooling());
  during(Event::store_scratchpad_wait, stores_.wait == Wait::scale_queue);
  during(Event::read_dma_active, loads_.cutting());
  during(Event::read_dma_bus_wait, read_held_);
  during(Event::write_dma_active, stores_.writing());
  during(Event::write_dma_bus_wait, write_held_);
  during(Event::execute_active, executes_.computing());
  during(Event::execute_flush, executes_.flushing());
  during(Event::execute_control_blocked, executes_.control_block);
  during(Event::execute_preload_hazard, executes_.preload_hazard);
  during(Event::execute_overlap_hazard, executes_.overlap_hazard);
  during(Event::station_full, station_blocked_);
  during(Event::station_active, station_.busy());
  during(Event::loop_matmul_active, front_.matmul_looping());
  during(Event::transpose_preload_active, executes_.unrolling());
  // Look-ups: one a packet; in machine mode all of them hit.
  const uint64_t packets = loads_.packets + stores_.packets, walks = tlb_.misses;
  counters_.count(Event::tlb_total, packets - packets_);
  counters_.count(Event::tlb_hit, packets - packets_ - (walks - walks_));
  counters_.count(Event::tlb_miss, walks - walks_);
  packets_ = packets;
  walks_ = walks;
  counters_.add(Shown::read_latency, cycles * static_cast<uint64_t>(loads_.in_flight()));
  counters_.add(Shown::write_latency, cycles * static_cast<uint64_t>(stores_.in_flight()));
}

// The command is carried out when it has come through the front end, behind everything sent before it; the core waits.
uint32_t TimedMachine::counter(uint64_t rs1) {
  while (!front_.passed()) step_and_skip(kNever);
  counters_.set(Shown::station_loads, station_.count(kLoadQueue));
  counters_.set(Shown::station_stores, station_.count(kStoreQueue));
  counters_.set(Shown::station_executes, station_.count(kExecuteQueue));
  counters_.add(Shown::bytes_read, loads_.bytes - bytes_read_);
  counters_.add(Shown::bytes_written, stores_.bytes - bytes_written_);
  bytes_read_ = loads_.bytes;
  bytes_written_ = stores_.bytes;
  packets_ = loads_.packets + stores_.packets;
  walks_ = tlb_.misses;
  return counters_.access(rs1);
}

}  // namespace strop::gemmini
