// The reservation station: three queues of entries, what each entry waits for, and who may issue.
// Rules: ReservationStation.scala. Dependences are fixed at allocation; entries issue oldest first within load and
// execute, and each store waits for every store before it.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "gemmini/command.hpp"
#include "gemmini/timing.hpp"

namespace strop::gemmini {

enum Queue : int { kLoadQueue = 0, kExecuteQueue = 1, kStoreQueue = 2 };

// Why a command waited, for the account.
enum class Wait : uint8_t {
  none, on_load, on_execute, on_store, in_order, station_full, dma_ids, bank, accumulator_port, mesh_busy, tag_limit,
  not_visible, raw_hazard, drain, fence, host, memory, write_ids, scale_queue, count
};
const char* name_of(Wait wait);

struct Entry {
  Command command;
  RowRange a, b;             // opa and opb: the destination first where there is one
  bool a_valid = false, b_valid = false, a_is_destination = false;
  bool config = false, completes_on_issue = false;
  bool from_loop = false, from_conv = false;
  uint64_t waits_for = 0;    // bits of slots, numbered over all three queues
  Cycle allocated = 0, issued = 0;
  uint64_t serial = 0;       // of allocations, from 0
  Origin blame;              // of the entry that it waited for last
  Wait blame_kind = Wait::none;
};

class ReservationStation {
 public:
  ReservationStation(const Timing& timing, const Geometry& geometry);
  void reset();

  bool full(Queue queue) const { return (~valid_ & mask_[queue]) == 0; }
  int count(Queue queue) const { return std::popcount(valid_ & mask_[queue]); }
  bool empty() const { return valid_ == 0; }
  // Not idle; one preload that still waits for its compute does not count.
  bool busy() const { return valid_ != 0 && !(solitary_preload_ && (valid_ & (valid_ - 1)) == 0); }
  // The slot that may issue from `queue` now, or -1.
  int candidate(Queue queue) const {
    const uint64_t can = valid_ & ~issued_ & ~waiting_ & mask_[queue];
    return can == 0 ? -1 : std::countr_zero(can);
  }
  // Puts the command into its queue, which must not be full. Returns its slot.
  int allocate(const Command& command, bool from_loop, bool from_conv, Cycle now);
  void issue(int slot, Cycle now);
  void complete(int slot, Cycle now);
  Entry& entry(int slot) { return entries_[slot]; }
  const Entry& entry(int slot) const { return entries_[slot]; }

  uint64_t valid() const { return valid_; }
  uint64_t issued() const { return issued_; }
  uint64_t waiting() const { return waiting_; }
  uint64_t mask(Queue queue) const { return mask_[queue]; }
  Queue queue_of(int slot) const { return slot < first_[1] ? kLoadQueue : slot < first_[2] ? kExecuteQueue : kStoreQueue; }
  // The oldest valid entry of a queue, or -1.
  int oldest(Queue queue) const;

 private:
  void release(int slot, uint64_t from, Cycle now, Wait why);

  const Timing& timing_;
  const Geometry& geometry_;
  int first_[4];
  uint64_t mask_[3];
  std::vector<Entry> entries_;
  uint64_t valid_ = 0, issued_ = 0, waiting_ = 0;
  uint64_t serial_ = 0;
  bool solitary_preload_ = false;
};

}  // namespace strop::gemmini
