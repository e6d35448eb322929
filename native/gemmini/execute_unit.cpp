#include "gemmini/execute_unit.hpp"

#include <algorithm>
#include <bit>

namespace strop::gemmini {

ExecuteUnit::ExecuteUnit(const Timing& timing, State& state, ReservationStation& station, const LoadUnit& loads)
    : timing_(timing), state_(state), station_(station), loads_(loads), results_(32),
      spad_mask_(static_cast<uint32_t>(state.geometry.rows() - 1)),
      bank_shift_(std::countr_zero(static_cast<uint32_t>(state.geometry.bank_rows))) {
  reset();
}

void ExecuteUnit::reset() {
  unroller_.clear();
  queue_.clear();
  fed_.clear();
  tags_.clear();
  outs_.clear();
  mode_ = Mode::waiting;
  unrolled_ = next_request_ = next_result_ = 0;
  running_slot_ = held_result_ = pending_[0] = pending_[1] = completed_ = -1;
  sequence_ = 0;
  mesh_free_ = 0;
  wait = Wait::none;
  fed = control_block = preload_hazard = overlap_hazard = false;
  bank_stalls = conflicts = alone = fused = flushes = rows = 0;
}

bool ExecuteUnit::in_progress() const {
  for (int i = 0; i < tags_.size(); ++i)
    if (tags_.at(i).slot >= 0) return true;
  return !fed_.empty();
}

// B^T in WS goes through the transposer once more: the pair (preload, compute) becomes two pairs.
bool ExecuteUnit::unroll(Cycle) {
  if (unroller_.empty() || queue_.size() >= timing_.execute_queue) return false;
  const int slot = unroller_.front();
  const Command& c = station_.entry(slot).command;
  Queued q;
  q.slot = slot;
  q.preload = c.kind == Kind::preload;
  q.compute = c.kind == Kind::compute_preloaded || c.kind == Kind::compute_accumulated;
  q.flip = c.kind == Kind::compute_preloaded;
  const bool turned = c.execute.weight_stationary && c.execute.b_transpose;
  if (q.preload && turned) {
    if (unroller_.size() < 2) return false;
    const int follower = unroller_.at(1);
    if (station_.entry(follower).command.kind == Kind::compute_preloaded) {
      if (unrolled_ == 0) {
        q.dummy = q.no_target = true;
        queue_.push(q);
        unrolled_ = 1;
        return true;
      }
      if (unrolled_ == 1) {
        Queued d;
        d.slot = follower;
        d.compute = d.dummy = true;
        queue_.push(d);
        unrolled_ = 2;
        return true;
      }
      q.no_source = true;
      unrolled_ = 0;
    }
  }
  queue_.push(q);
  unroller_.pop();
  return true;
}

// Results whose address is exactly that of a row about to be read (ExecuteController: raw_hazard_pre, _mulpre).
const ExecuteUnit::Tag* ExecuteUnit::raw_hazard(const Queued* preload, const Queued* compute) const {
  if (!timing_.hazards) return nullptr;
  const auto same = [](const Tag& t, LocalAddress at) {
    return !at.garbage() && t.at.accumulator() == at.accumulator() && t.at.row() == at.row();
  };
  for (int i = 0; i < tags_.size(); ++i) {
    const Tag& t = tags_.at(i);
    if (t.at.garbage()) continue;
    if (preload != nullptr && !preload->no_source && same(t, command(*preload).first.at)) return &t;
    if (compute != nullptr && compute->compute &&
        (same(t, command(*compute).first.at) || same(t, command(*compute).second.at)))
      return &t;
    if (compute != nullptr && compute->preload &&
        (same(t, command(*compute).first.at) || same(t, command(*compute).second.at)))
      return &t;
  }
  return nullptr;
}

// A sum that nobody began is refused in the name of the preload that asked for it.
void ExecuteUnit::require_sum(int row, int columns) const {
  Command preload;
  preload.kind = Kind::preload;
  if (!tags_.empty()) preload.origin = tags_.front().origin;
  const uint32_t mask = columns >= 32 ? 0xFFFFFFFFu : (1u << columns) - 1;
  require_written(state_, state_.accumulator, static_cast<uint32_t>(row), mask, preload, "adds to");
}

bool ExecuteUnit::leave(Cycle now, Ports& ports) {
  bool changed = false;
  bool by_result = false;
  if (!outs_.empty() && outs_.front().at <= now) {
    const Out o = outs_.front();
    outs_.pop();
    changed = true;
    if (o.result >= 0) {
      const StepResult& result = results_[o.result];
      const Geometry& g = state_.geometry;
      const bool accumulator = result.at.accumulator();
      const int row = o.reversed ? o.rows - 1 - o.row : o.row;
      const Cycle ready = accumulator ? now + 1 + timing_.accumulator_latency : now + 1;
      if (row < result.rows) {
        const int to = static_cast<int>(result.at.row()) + row * result.stride;
        if (accumulator) {
          if (state_.strict && result.at.accumulate()) require_sum(to, result.columns);
          const uint32_t bank = 1u << g.accumulator_bank(to & (g.accumulator_rows() - 1));
          ports.accumulator_written |= bank;
          if (result.at.accumulate()) ports.accumulator_busy |= bank;
        } else {
          ports.spad_written |= 1u << g.bank(to & (g.rows() - 1));
        }
        write_result_row(state_, result, row, ready);
      }
      if (o.last)
        for (int r = o.rows; r < result.rows; ++r) write_result_row(state_, result, r, ready);
    }
    if (o.last && !tags_.empty() && tags_.front().target <= o.id) {
      if (tags_.front().slot >= 0) {
        completed_ = tags_.front().slot;
        by_result = true;
      }
      tags_.pop();
    }
  }
  if (!by_result) {
    for (int& p : pending_)
      if (p >= 0) {
        completed_ = p;
        p = -1;
        changed = true;
        break;
      }
  }
  return changed;
}

bool ExecuteUnit::step(Cycle now, Ports& ports) {
  wait = Wait::none;
  fed = control_block = preload_hazard = overlap_hazard = false;
  bool changed = false;
  // Rows whose data are there enter the array; a request's first needs room for its tag.
  if (!fed_.empty() && fed_.front().at <= now) {
    const Fed f = fed_.front();
    if (!f.first || (tags_.size() < timing_.tags && mesh_free_ <= now)) {
      Request& r = requests_[f.request];
      if (f.first) {
        r.id = ++sequence_;
        Tag& t = tags_.push();
        t.target = r.id + (r.output_stationary ? 2 : 1);
        t.slot = r.slot;
        t.at = r.at;
        t.origin = r.origin;
      }
      if (f.row) {
        Out& o = outs_.push();
        o.at = now + 1 + timing_.mesh_latency;
        o.id = r.id;
        o.result = r.result;
        o.row = r.fed++;
        o.rows = r.rows;
        o.last = r.fed == r.rows;
        o.reversed = r.output_stationary;
      }
      fed_.pop();
      changed = true;
    }
  }
  if (mode_ == Mode::waiting) {
    running_slot_ = -1;
    if (queue_.empty()) {
      const bool os = !tags_.empty() && held_result_ >= 0;
      if (os && in_progress()) {
        mode_ = Mode::flush;
        changed = true;
      }
    } else {
      const Queued& head = queue_.front();
      const Queued* second = queue_.size() > 1 ? &queue_.at(1) : nullptr;
      const Queued* third = queue_.size() > 2 ? &queue_.at(2) : nullptr;
      const Command& c = command(head);
      if (head.preload) {
        if (second == nullptr) {
          wait = Wait::not_visible;
        } else if (const Tag* t = raw_hazard(&head, second)) {
          wait = Wait::raw_hazard;
          raw_cause_ = t->origin;
          preload_hazard = true;
        } else {
          begin(now, false, 0);
        }
        // OS results leave only when something follows them into the array.
        if (mode_ == Mode::waiting && wait == Wait::raw_hazard && !c.execute.weight_stationary) mode_ = Mode::flush;
      } else if (head.compute) {
        const ExecuteConfig& config = c.execute;
        const bool turns = config.weight_stationary ? config.a_transpose : true;
        const bool third_needed = timing_.hazards || turns;
        bool both = second != nullptr && second->preload && (!third_needed || third != nullptr);
        if (both && third_needed) {
          if (const Tag* t = raw_hazard(second, third)) {
            both = false;
            raw_cause_ = t->origin;
            overlap_hazard = true;
          }
        }
        begin(now, true, both ? 1 : -1);
      } else if (in_progress() || pending_[0] >= 0 || pending_[1] >= 0) {
        wait = Wait::drain;
        bool tagged = false;
        for (int i = 0; i < tags_.size(); ++i) tagged = tagged || tags_.at(i).slot >= 0;
        if (tagged) {
          mode_ = Mode::flush;
          changed = true;
        }
      } else if (completed_ < 0) {  // one completion a cycle: the last result may have left in this one
        completed_ = head.slot;     // config_ex: the array is idle
        queue_.pop();
        changed = true;
      }
    }
  } else if (mode_ == Mode::flushing) {
    wait = Wait::drain;
    if (mesh_free_ <= now) {
      mode_ = Mode::waiting;
      changed = true;
    }
  } else if (mode_ == Mode::flush) {
    wait = Wait::drain;
    if (fed_.empty() && mesh_free_ <= now && tags_.size() < timing_.tags) {
      // A pass of rows that mean nothing pushes out what is left.
      const int dim = state_.geometry.dim;
      const uint64_t id = ++sequence_;
      ++flushes;
      for (int i = 0; i < dim; ++i) {
        Out& o = outs_.push();
        o.at = now + 2 + i + timing_.mesh_latency;
        o.id = id;
        o.result = held_result_;
        o.row = i;
        o.rows = dim;
        o.last = i == dim - 1;
        o.reversed = true;
      }
      held_result_ = -1;
      mesh_free_ = now + dim;
      mode_ = Mode::flushing;
      changed = true;
    }
  }
  if (mode_ == Mode::computing && fire(now, ports)) changed = true;
  return changed;
}

Cycle ExecuteUnit::next(Cycle now) const {
  Cycle at = kNever;
  if (!outs_.empty()) at = outs_.front().at;
  if (!fed_.empty()) at = std::min(at, fed_.front().at);
  if (mode_ == Mode::flush || mode_ == Mode::flushing) at = std::min(at, mesh_free_);
  if (pending_[0] >= 0 || pending_[1] >= 0) at = now + 1;
  return at <= now ? now + 1 : at;
}

}  // namespace strop::gemmini
