#include "gemmini/machine.hpp"

#include <algorithm>
#include <stdexcept>

namespace strop::gemmini {

TimedMachine::TimedMachine(rocket::Memory& memory, const NamedValues& values, bool strict, uint8_t poison)
    : geometry_(Geometry::from(values)), timing_(Timing::from(values, geometry_)), state_(geometry_, strict, poison),
      memory_(memory), front_(timing_, geometry_, strict), station_(timing_, geometry_),
      tlb_(timing_),
      loads_(timing_, state_, memory, station_, tlb_), stores_(timing_, state_, memory, station_, tlb_),
      executes_(timing_, state_, station_, loads_), cache_(timing_) {
  if (const std::string name = values.unused(); !name.empty())
    throw std::invalid_argument("no parameter of the machine is called " + name);
  reset();
}

void TimedMachine::reset(size_t most_events) {
  state_.reset();
  front_.reset();
  station_.reset();
  loads_.reset();
  stores_.reset();
  executes_.reset();
  cache_.reset();
  tlb_.reset();
  account_.reset(most_events);
  now_ = 0;
  fencing_ = writes_turn_ = in_burst_ = station_blocked_ = false;
  commands_ = 0;
  last_ = Origin();
  last_funct_ = 0;
}

bool TimedMachine::busy() const {
  return front_.busy() || station_.busy() || loads_.reader_busy() || stores_.draining() || executes_.flushing();
}

// One beat each way: D brings bytes or an acknowledgement, A takes a read or one beat of a write.
bool TimedMachine::bus(Cycle now) {
  bool changed = false;
  if (const Answer* answer = cache_.waiting(now)) {
    if (answer->write) {
      stores_.acknowledged(answer->id);
      cache_.carry_beat();
      changed = true;
    } else if (loads_.takes_beat()) {
      loads_.beat(now, answer->id);
      cache_.carry_beat();
      changed = true;
    } else {
      ++account_.counters.bus_wait;
    }
  }
  const bool reads = !in_burst_ && loads_.offers(now), writes = stores_.offers(now);
  if (reads && (!writes || !writes_turn_)) {
    const int id = loads_.take();
    loads_.sample(id);
    cache_.read(now, loads_.packet(id).address, loads_.packet(id).size, id);
    writes_turn_ = true;
    return true;
  }
  if (writes) {
    const StoreUnit::Beat beat = stores_.take();
    in_burst_ = !beat.last;
    if (beat.last) {
      stores_.put(beat.id);
      cache_.write(now, stores_.packet(beat.id).address, stores_.packet(beat.id).whole, beat.id);
      writes_turn_ = false;
    }
    return true;
  }
  return changed;
}

// Issue, allocation and completion all see the station as it was when the cycle began.
bool TimedMachine::station(Cycle now) {
  bool changed = false;
  int issues[3];
  for (int q = 0; q < 3; ++q) issues[q] = station_.candidate(static_cast<Queue>(q));
  if (loads_.full()) issues[kLoadQueue] = -1;
  if (executes_.full()) issues[kExecuteQueue] = -1;
  if (stores_.full()) issues[kStoreQueue] = -1;

  station_blocked_ = false;
  if (!front_.empty()) {
    const FrontEnd::Ready& ready = front_.front();
    const Unit unit = ready.command.unit;
    if (unit == Unit::none) {
      front_.pop();
      changed = true;
    } else {
      const Queue queue = unit == Unit::load ? kLoadQueue : unit == Unit::execute ? kExecuteQueue : kStoreQueue;
      if (station_.full(queue)) {
        station_blocked_ = true;
      } else {
        station_.allocate(ready.command, ready.from_loop, ready.from_conv, now);
        front_.pop();
        changed = true;
      }
    }
  }
  const auto left = [&](const Entry& e, int queue) {
    if (e.from_loop)
      front_.completed(queue == kLoadQueue ? Unit::load : queue == kExecuteQueue ? Unit::execute : Unit::store,
                       e.from_conv);
  };
  for (int q = 0; q < 3; ++q) {
    if (issues[q] < 0) continue;
    Entry& e = station_.entry(issues[q]);
    station_.issue(issues[q], now);
    account_.issued(e, now);
    // A config that completes when it issues still passes through its controller's queue; the slot may be taken again,
    // so the controller is given a command that it knows to be one.
    if (e.completes_on_issue) {
      account_.completed(e, q, now);
      left(e, q);
      (q == kLoadQueue ? loads_.push(-1) : stores_.push(-1));
    } else if (q == kLoadQueue) {
      loads_.push(issues[q]);
    } else if (q == kExecuteQueue) {
      executes_.push(issues[q]);
    } else {
      stores_.push(issues[q]);
    }
    changed = true;
  }
  int done = executes_.take_completed();
  if (done < 0) {
    done = loads_.finished(now);
    if (done >= 0) {
      loads_.finish(now, done);
    } else {
      done = stores_.finished(now);
      if (done >= 0) stores_.finish(done);
    }
  }
  if (done >= 0) {
    const Entry& e = station_.entry(done);
    const int queue = station_.queue_of(done);
    account_.completed(e, queue, now);
    left(e, queue);
    station_.complete(done, now);
    changed = true;
  }
  return changed;
}

bool TimedMachine::step(Cycle now) {
  ports_.clear();
  bool changed = executes_.may_leave(now) && executes_.leave(now, ports_);
  if (loads_.may_land()) changed |= loads_.land(now, ports_);
  changed |= executes_.step(now, ports_);
  stores_.out_of_ids = false;
  if (stores_.may_write()) changed |= stores_.write(now);
  stores_.read_wait = Wait::none;
  if (stores_.may_read()) changed |= stores_.read(now, ports_);
  changed |= bus(now);
  loads_.out_of_ids = false;
  if (loads_.may_packetise()) changed |= loads_.packetise(now);
  loads_.rest();
  if (loads_.may_control()) changed |= loads_.control(now);
  stores_.wait = Wait::none;
  stores_.active = false;
  if (stores_.may_control()) changed |= stores_.control(now);
  if (executes_.may_unroll()) changed |= executes_.unroll(now);
  changed |= station(now);
  if (!front_.idle()) changed |= front_.step();
  return changed;
}

Cycle TimedMachine::next(Cycle now) const {
  return std::min({loads_.next(now), stores_.next(now), executes_.next(now), std::max(cache_.next(), now + 1),
                   std::max(tlb_.next(), now + 1)});
}

// One cycle; if nothing changed in it, all cycles up to the next event are like it.
void TimedMachine::step_and_skip(Cycle most) {
  const bool changed = step(now_);
  Cycle to = now_ + 1;
  if (!changed) to = std::min(most, std::max(to, next(now_)));
  if (to == kNever) {
    // A preload needs the command behind it; the hardware would wait for it without end, too.
    if (const int head = executes_.head(); head >= 0 && executes_.wait == Wait::not_visible)
      refuse(station_.entry(head).command, "the array waits for this preload's compute, which never comes");
    throw std::logic_error("internal: the machine waits for something that never comes; its last command is " +
                           std::to_string(last_.index));
  }
  classify(to - now_);
  now_ = to;
  if (static_cast<int64_t>(now_) > timing_.most_cycles)
    throw rocket::Trap(rocket::TrapKind::illegal_command, 0, 0,
                       "the accelerator ran for more than " + std::to_string(timing_.most_cycles) + " cycles");
}

void TimedMachine::run_to(Cycle cycle) {
  while (now_ < cycle) {
    if (!busy() && !station_.valid()) {  // nothing to do until the core sends more
      classify(cycle - now_);
      now_ = cycle;
      return;
    }
    step_and_skip(cycle);
  }
}

void TimedMachine::advance(uint64_t cycle) { run_to(cycle); }

rocket::Accepted TimedMachine::issue(const rocket::RoccCommand& c) {
  run_to(c.cycle);
  const Cycle offered = now_;
  while (!front_.room()) step_and_skip(kNever);
  FrontEnd::Raw raw;
  raw.funct = c.funct;
  raw.rs1 = c.rs1;
  raw.rs2 = c.rs2;
  raw.origin.index = commands_++;
  raw.origin.pc = c.pc;
  if (now_ > offered)
    account_.waited(WaitKey{c.pc, last_.pc, c.funct, Wait::station_full}, now_ - offered, raw.origin.index, last_.index);
  front_.push(raw);
  last_ = raw.origin;
  last_funct_ = c.funct;
  rocket::Accepted accepted;
  accepted.cycle = now_;
  accepted.result_cycle = now_ + 6;
  return accepted;
}

uint64_t TimedMachine::drain(uint64_t cycle) {
  run_to(cycle);
  const Cycle start = now_;
  fencing_ = true;
  while (busy()) step_and_skip(kNever);
  fencing_ = false;
  account_.fence(start, now_, last_.pc, last_.index);
  return now_;
}

void TimedMachine::start_account(uint64_t cycle) {
  run_to(cycle);
  const size_t most = account_.most_events();
  account_.reset(most);
}

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
