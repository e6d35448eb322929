#include "gemmini/reservation_station.hpp"

namespace strop::gemmini {

const char* name_of(Wait wait) {
  static const char* const names[] = {
      "none",         "on_load",     "on_execute",       "on_store",  "in_order",  "station_full", "dma_ids",
      "bank",         "accumulator_port", "mesh_busy",   "tag_limit", "not_visible", "raw_hazard", "drain",
      "fence",        "host",        "memory",           "write_ids", "scale_queue"};
  return names[static_cast<int>(wait)];
}

ReservationStation::ReservationStation(const Timing& timing, const Geometry& geometry)
    : timing_(timing), geometry_(geometry) {
  const int sizes[] = {timing.load_entries, timing.execute_entries, timing.store_entries};
  first_[0] = 0;
  for (int q = 0; q < 3; ++q) {
    first_[q + 1] = first_[q] + sizes[q];
    mask_[q] = (((uint64_t{1} << sizes[q]) - 1)) << first_[q];
  }
  entries_.resize(first_[3]);
}

void ReservationStation::reset() {
  valid_ = issued_ = waiting_ = serial_ = 0;
  solitary_preload_ = false;
}

int ReservationStation::oldest(Queue queue) const {
  int best = -1;
  for (uint64_t m = valid_ & mask_[queue]; m != 0; m &= m - 1) {
    const int slot = std::countr_zero(m);
    if (best < 0 || entries_[slot].serial < entries_[best].serial) best = slot;
  }
  return best;
}

int ReservationStation::allocate(const Command& command, bool from_loop, bool from_conv, Cycle now) {
  const Queue queue = command.unit == Unit::load ? kLoadQueue : command.unit == Unit::execute ? kExecuteQueue : kStoreQueue;
  const int slot = std::countr_zero(~valid_ & mask_[queue]);
  Entry& e = entries_[slot];
  e.command = command;
  e.from_loop = from_loop;
  e.from_conv = from_conv;
  e.a_valid = e.b_valid = e.a_is_destination = e.config = false;
  switch (command.kind) {
    case Kind::load:
      e.a = written_by_load(geometry_, command);
      e.a_valid = e.a_is_destination = true;
      break;
    case Kind::store:
      e.a = read_by_store(geometry_, command);
      e.a_valid = true;
      break;
    case Kind::store_spad:
      e.a = RowRange{false, command.second.at.row(), command.second.at.row() + static_cast<uint32_t>(command.first.rows)};
      e.b = read_by_store(geometry_, command);
      e.a_valid = e.b_valid = e.a_is_destination = true;
      break;
    case Kind::preload:
      e.a = written_by_preload(geometry_, command);
      e.b = read_by_preload(geometry_, command);
      e.a_valid = e.b_valid = e.a_is_destination = true;
      solitary_preload_ = true;
      break;
    case Kind::compute_preloaded:
    case Kind::compute_accumulated:
      e.a = a_of_compute(geometry_, command);
      e.b = second_of_compute(geometry_, command);
      e.a_valid = e.b_valid = true;
      solitary_preload_ = false;
      break;
    default:
      e.config = true;
  }
  e.completes_on_issue = e.config && queue != kExecuteQueue;
  e.allocated = now;
  e.serial = serial_++;
  e.blame_kind = Wait::none;

  uint64_t waits = 0;
  if (queue != kStoreQueue) {
    waits |= valid_ & ~issued_ & mask_[queue];  // oldest first
  } else {
    waits |= valid_ & mask_[kStoreQueue];       // one after the other
  }
  if (!e.config && timing_.fault_ignore_dependences == 0) {
    uint64_t others = valid_ & ~mask_[queue];
    for (; others != 0; others &= others - 1) {
      const int s = std::countr_zero(others);
      const Entry& o = entries_[s];
      const Queue from = queue_of(s);
      bool hit = false;
      if (queue == kLoadQueue) {
        hit = (o.a_valid && e.a.overlaps(o.a)) || (o.b_valid && from == kExecuteQueue && e.a.overlaps(o.b)) ||
              (o.b_valid && from == kStoreQueue && e.a.overlaps(o.b));
      } else if (queue == kExecuteQueue) {
        if (from == kLoadQueue) {
          hit = o.a_valid && (e.a.overlaps(o.a) || e.b.overlaps(o.a));
        } else if (o.a_valid) {
          hit = o.a_is_destination ? e.a.overlaps(o.a) || e.b.overlaps(o.a) || (e.a_is_destination && e.a.overlaps(o.b))
                                   : e.a_is_destination && e.a.overlaps(o.a);
        }
      } else if (from == kLoadQueue) {
        hit = o.a_valid && (e.a.overlaps(o.a) || (e.b_valid && e.b.overlaps(o.a)));
      } else if (e.a_is_destination) {
        hit = (o.a_valid && e.a.overlaps(o.a)) || (o.b_valid && e.a.overlaps(o.b)) ||
              (o.a_valid && o.a_is_destination && e.b.overlaps(o.a));
      } else {
        hit = o.a_valid && o.a_is_destination && e.a.overlaps(o.a);
      }
      if (hit) waits |= uint64_t{1} << s;
    }
  }
  e.waits_for = waits;
  const uint64_t bit = uint64_t{1} << slot;
  valid_ |= bit;
  issued_ &= ~bit;
  waiting_ = waits != 0 ? waiting_ | bit : waiting_ & ~bit;
  return slot;
}

void ReservationStation::release(int slot, uint64_t among, Cycle, Wait why) {
  const uint64_t bit = uint64_t{1} << slot;
  for (uint64_t m = waiting_ & among; m != 0; m &= m - 1) {
    const int s = std::countr_zero(m);
    Entry& e = entries_[s];
    if ((e.waits_for & bit) == 0) continue;
    e.waits_for &= ~bit;
    e.blame = entries_[slot].command.origin;
    e.blame_kind = why;
    if (e.waits_for == 0) waiting_ &= ~(uint64_t{1} << s);
  }
}

void ReservationStation::issue(int slot, Cycle now) {
  const Queue queue = queue_of(slot);
  const uint64_t bit = uint64_t{1} << slot;
  Entry& e = entries_[slot];
  e.issued = now;
  issued_ |= bit;
  if (e.completes_on_issue) {
    release(slot, ~uint64_t{0}, now, Wait::in_order);
    valid_ &= ~bit;
  } else if (queue != kStoreQueue) {
    release(slot, mask_[queue], now, Wait::in_order);
  }
}

void ReservationStation::complete(int slot, Cycle now) {
  const Queue queue = queue_of(slot);
  release(slot, ~uint64_t{0}, now,
          queue == kLoadQueue ? Wait::on_load : queue == kExecuteQueue ? Wait::on_execute : Wait::on_store);
  valid_ &= ~(uint64_t{1} << slot);
}

}  // namespace strop::gemmini
