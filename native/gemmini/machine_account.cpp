// What each cycle of the timed machine went to.
#include <bit>

#include "gemmini/machine.hpp"

namespace strop::gemmini {

void TimedMachine::blame(Spent spent, int slot, uint64_t cycles) {
  if (slot < 0) {
    account_.spend(spent, cycles, last_.pc, last_funct_);
    return;
  }
  const Command& c = station_.entry(slot).command;
  account_.spend(spent, cycles, c.origin.pc, c.funct);
}

void TimedMachine::classify(uint64_t cycles) {
  UnitCounters& n = account_.counters;
  n.load_active += loads_.active ? cycles : 0;
  n.load_dma_wait += loads_.wait == Wait::dma_ids ? cycles : 0;
  n.load_scratchpad_wait += loads_.wait == Wait::memory || loads_.wait == Wait::bank ? cycles : 0;
  n.reader_active += loads_.reader_busy() ? cycles : 0;
  n.reader_no_id += loads_.out_of_ids ? cycles : 0;
  n.store_active += stores_.active ? cycles : 0;
  n.store_wait += stores_.read_wait != Wait::none ? cycles : 0;
  n.writer_active += stores_.draining() ? cycles : 0;
  n.writer_no_id += stores_.out_of_ids ? cycles : 0;
  n.execute_active += executes_.computing() || executes_.fed ? cycles : 0;
  n.execute_flush += executes_.flushing() ? cycles : 0;
  n.control_queue_block += executes_.control_block ? cycles : 0;
  n.preload_hazard += executes_.preload_hazard ? cycles : 0;
  n.overlap_hazard += executes_.overlap_hazard ? cycles : 0;
  n.station_active += station_.empty() ? 0 : cycles;
  n.station_full += station_blocked_ ? cycles : 0;

  if (executes_.fed) return blame(Spent::execute, executes_.current(), cycles);
  if (executes_.computing()) {
    if (executes_.wait == Wait::bank) return blame(Spent::load, loads_.head(), cycles);
    const bool full = executes_.wait == Wait::tag_limit || executes_.wait == Wait::mesh_busy;
    return blame(full ? Spent::fill : Spent::execute, executes_.current(), cycles);
  }
  const int head = executes_.head();
  if (head >= 0 && executes_.wait != Wait::not_visible && executes_.wait != Wait::none)
    return blame(Spent::fill, head, cycles);
  // The oldest command for the array that has not gone to it.
  const uint64_t unissued = station_.valid() & ~station_.issued() & station_.mask(kExecuteQueue);
  if (unissued != 0) {
    int oldest = -1;
    for (uint64_t m = unissued; m != 0; m &= m - 1) {
      const int s = std::countr_zero(m);
      if (oldest < 0 || station_.entry(s).serial < station_.entry(oldest).serial) oldest = s;
    }
    const uint64_t waits = station_.entry(oldest).waits_for;
    if (const uint64_t on = waits & station_.mask(kLoadQueue)) return blame(Spent::load, std::countr_zero(on), cycles);
    if (const uint64_t on = waits & station_.mask(kStoreQueue)) return blame(Spent::store, std::countr_zero(on), cycles);
    return blame(Spent::fill, oldest, cycles);  // on its way to the array
  }
  if (station_blocked_) {
    const Unit unit = front_.front().command.unit;
    if (unit == Unit::load) return blame(Spent::load, station_.oldest(kLoadQueue), cycles);
    if (unit == Unit::store) return blame(Spent::store, station_.oldest(kStoreQueue), cycles);
    return blame(Spent::fill, station_.oldest(kExecuteQueue), cycles);
  }
  if (fencing_ || front_.looping()) {
    if (loads_.busy()) return blame(Spent::load, station_.oldest(kLoadQueue), cycles);
    if (executes_.in_flight()) return blame(Spent::fill, station_.oldest(kExecuteQueue), cycles);
    if (stores_.busy()) return blame(Spent::store, station_.oldest(kStoreQueue), cycles);
    return blame(fencing_ ? Spent::fence : Spent::fill, -1, cycles);
  }
  blame(Spent::host, -1, cycles);
}

}  // namespace strop::gemmini
