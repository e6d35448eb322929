#include "gemmini/account.hpp"

namespace strop::gemmini {

const char* name_of(Spent spent) {
  static const char* const names[] = {"host", "load", "execute", "store", "fence", "fill"};
  return names[static_cast<int>(spent)];
}

void Account::reset(size_t most_events) {
  total = {};
  by_pc.clear();
  by_funct = {};
  waits.clear();
  events.clear();
  events_dropped = 0;
  counters = UnitCounters();
  most_events_ = most_events;
  last_ = nullptr;
}

void Account::waited(const WaitKey& key, uint64_t cycles, uint64_t index, uint64_t cause_index) {
  WaitSum& sum = waits[key];
  sum.cycles += cycles;
  ++sum.count;
  if (cycles >= sum.longest) {
    sum.longest = cycles;
    sum.index = index;
    sum.cause_index = cause_index;
  }
}

void Account::issued(const Entry& e, Cycle now) {
  if (e.blame_kind == Wait::none || e.blame_kind == Wait::in_order || now <= e.allocated + 1) return;
  waited(WaitKey{e.command.origin.pc, e.blame.pc, e.command.funct, e.blame_kind}, now - e.allocated - 1,
         e.command.origin.index, e.blame.index);
}

void Account::completed(const Entry& e, int queue, Cycle now) {
  if (most_events_ == 0) return;
  if (events.size() >= most_events_) {
    ++events_dropped;
    return;
  }
  TimelineEvent v;
  v.unit = static_cast<uint8_t>(queue);
  v.funct = e.command.funct;
  v.origin = e.command.origin;
  v.allocated = e.allocated;
  v.issued = e.issued;
  v.end = now;
  v.cause = e.blame;
  v.wait = e.blame_kind;
  events.push_back(v);
}

void Account::fence(Cycle start, Cycle end, uint64_t pc, uint64_t index) {
  if (most_events_ == 0 || end <= start) return;
  if (events.size() >= most_events_) {
    ++events_dropped;
    return;
  }
  TimelineEvent v;
  v.unit = 3;
  v.origin.pc = pc;
  v.origin.index = index;
  v.allocated = v.issued = start;
  v.end = end;
  v.wait = Wait::fence;
  events.push_back(v);
}

}  // namespace strop::gemmini
