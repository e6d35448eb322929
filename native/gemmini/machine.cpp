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
  counters_.reset();
  bytes_read_ = bytes_written_ = packets_ = walks_ = 0;
  now_ = 0;
  read_held_ = write_held_ = fencing_ = writes_turn_ = in_burst_ = station_blocked_ = false;
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
  const bool write_goes = writes && (!reads || writes_turn_);
  read_held_ = loads_.offers(now) && (write_goes || !reads);
  write_held_ = writes && !write_goes;
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
    if (const int head = executes_.head(); head >= 0 && station_.entry(head).command.kind == Kind::preload)
      refuse(station_.entry(head).command, "the array waits for this preload's compute, which never comes");
    throw std::logic_error("internal: the machine waits for something that never comes; its last command is " +
                           std::to_string(last_.index));
  }
  classify(to - now_);
  if (counters_.counting()) count_events(to - now_);
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
  if (c.funct == kCounter) accepted.result = counter(c.rs1);
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

}  // namespace strop::gemmini
