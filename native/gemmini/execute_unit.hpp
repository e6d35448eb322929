// The execute controller and the array's time: which commands go in together, how their operands' rows are read, and
// when results leave. Rules: ExecuteController, TransposePreloadUnroller, MeshWithDelays. What is computed comes from
// feed_preload and compute; here it is only said when.
#pragma once

#include <cstdint>
#include <vector>

#include "gemmini/load_unit.hpp"
#include "gemmini/ports.hpp"
#include "gemmini/reservation_station.hpp"
#include "gemmini/state.hpp"
#include "gemmini/timing.hpp"

namespace strop::gemmini {

class ExecuteUnit {
 public:
  ExecuteUnit(const Timing& timing, State& state, ReservationStation& station, const LoadUnit& loads);
  void reset();

  bool full() const { return unroller_.size() >= 2; }
  void push(int slot) { unroller_.push(slot); }

  bool leave(Cycle now, Ports& ports);   // a row of a result, and what it completes
  bool step(Cycle now, Ports& ports);    // feeds the array
  bool unroll(Cycle now);                // into the queue of commands
  int take_completed() {                 // the slot that completes in this cycle, or -1
    const int slot = completed_;
    completed_ = -1;
    return slot;
  }

  bool busy() const { return !unroller_.empty() || !queue_.empty() || in_progress() || pending_[0] >= 0 || pending_[1] >= 0; }
  bool may_leave(Cycle now) const {
    return (!outs_.empty() && outs_.front().at <= now) || pending_[0] >= 0 || pending_[1] >= 0;
  }
  bool may_unroll() const { return !unroller_.empty(); }
  bool in_flight() const { return in_progress() || !outs_.empty(); }
  Cycle next(Cycle now) const;

  // For accounts.
  Wait wait = Wait::none;
  bool fed = false;          // operand rows went in
  bool flushing() const { return mode_ == Mode::flush || mode_ == Mode::flushing; }
  bool unrolling() const { return unrolled_ != 0; }
  bool computing() const { return mode_ == Mode::computing; }
  int head() const { return queue_.empty() ? (unroller_.empty() ? -1 : unroller_.front()) : queue_.front().slot; }
  int current() const { return running_slot_; }
  const Origin& raw_cause() const { return raw_cause_; }
  uint64_t bank_stalls = 0, conflicts = 0, alone = 0, fused = 0, flushes = 0, rows = 0;
  bool control_block = false, preload_hazard = false, overlap_hazard = false;

 private:
  enum class Mode : uint8_t { waiting, computing, flush, flushing };
  struct Queued {
    int slot = -1;
    bool preload = false, compute = false, flip = false;
    bool dummy = false;         // made for the transposer: moves rows, means nothing
    bool no_source = false;     // the second preload of an unrolled pair reads nothing
    bool no_target = false;     // the first one has no C
  };
  struct Operand_ {
    bool inputting = false, garbage = true, accumulator = false, reversed = false;
    uint32_t base = 0;
    int stride = 1, rows = 0, fired = 0;
  };
  struct Tag {
    uint64_t target = 0;        // the request whose last row brings it
    int slot = -1;
    LocalAddress at;
    Origin origin;
  };
  struct Request {
    int rows = 0, result = -1, slot = -1, fed = 0;
    bool output_stationary = false;
    LocalAddress at;
    Origin origin;
    uint64_t id = 0;
  };
  struct Fed {                  // ComputeCntlSignals
    Cycle at = 0;
    int request = 0;
    bool first = false, row = false;
  };
  struct Out {
    Cycle at = 0;
    uint64_t id = 0;
    int result = -1, row = 0, rows = 0;
    bool last = false, reversed = false;
  };

  const Command& command(const Queued& q) const { return station_.entry(q.slot).command; }
  bool in_progress() const;
  const Tag* raw_hazard(const Queued* preload, const Queued* compute) const;
  void begin(Cycle now, bool multiply, int preload_at);
  void set_operand(Operand_& o, bool inputting, LocalAddress at, int rows, int stride, bool reversed);
  bool fire(Cycle now, Ports& ports);
  bool fire_together(Cycle now, Ports& ports);
  void feed(Cycle at, bool complete, int fired);
  uint32_t bank_of(uint32_t row) const { return row >> bank_shift_; }
  void end();
  void require_sum(int row, int columns) const;
  void require_landed(const Operand_& o, int total, const Command& reader) const;

  const Timing& timing_;
  State& state_;
  ReservationStation& station_;
  const LoadUnit& loads_;
  Ring<int, 8> unroller_;
  int unrolled_ = 0;            // how far the pair at the head of the unroller has gone
  Ring<Queued, 64> queue_;
  Mode mode_ = Mode::waiting;
  bool multiply_ = false, preload_ = false;
  Operand_ operands_[3];        // A, B (bias), D (weights)
  int total_ = 0, running_slot_ = -1;
  bool started_ = false;
  int request_ = 0;             // being fired, in requests_
  Request requests_[16];
  int next_request_ = 0;
  uint64_t sequence_ = 0;
  Ring<Fed, 64> fed_;
  Ring<Tag, 64> tags_;
  Ring<Out, 256> outs_;
  std::vector<StepResult> results_;
  uint32_t spad_mask_;
  int bank_shift_;
  int next_result_ = 0, held_result_ = -1;  // OS: what the next request pushes out
  Cycle mesh_free_ = 0;
  int pending_[2] = {-1, -1};
  int completed_ = -1;
  Origin raw_cause_;
};

}  // namespace strop::gemmini
