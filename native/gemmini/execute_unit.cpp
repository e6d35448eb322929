#include "gemmini/execute_unit.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

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

void ExecuteUnit::set_operand(Operand_& o, bool inputting, LocalAddress at, int rows, int stride, bool reversed) {
  o.inputting = inputting;
  o.garbage = at.garbage();
  o.accumulator = at.accumulator();
  o.base = at.row();
  o.stride = stride;
  o.rows = rows;
  o.reversed = reversed;
  o.fired = 0;
}

void ExecuteUnit::require_landed(const Operand_& o, int total, const Command& reader) const {
  if (!o.inputting || o.garbage) return;
  const int n = std::min(total, o.rows);
  const uint32_t size = static_cast<uint32_t>(o.accumulator ? state_.geometry.accumulator_rows() : state_.geometry.rows());
  for (int i = 0; i < n; ++i) {
    const uint32_t row = (o.base + static_cast<uint32_t>(i * o.stride)) % size;
    if (loads_.pending(o.accumulator, row))
      throw std::logic_error("internal: " + describe(reader) + " reads row " + std::to_string(row) +
                             " before the load that fills it has landed");
  }
}

// A request starts: `multiply` with the compute at the head, `preload_at` the place of the preload or -1.
void ExecuteUnit::begin(Cycle now, bool multiply, int preload_at) {
  const int dim = state_.geometry.dim;
  const Queued& head = queue_.front();
  const ExecuteConfig& config = command(head).execute;
  const bool ws = config.weight_stationary;
  const bool turn_a = ws ? config.a_transpose : !config.a_transpose;
  const bool turn_b = !ws && config.b_transpose, turn_d = ws && config.b_transpose;
  multiply_ = multiply;
  preload_ = preload_at >= 0;
  const auto at = [&](int i) -> const Queued* { return i < queue_.size() ? &queue_.at(i) : nullptr; };
  const auto source = [&](bool turned) -> const Queued* {
    const Queued* q = preload_at == 0 ? at(1) : at(turned ? 2 : 0);
    return q != nullptr && q->compute ? q : nullptr;
  };
  const bool input_a = !multiply ? turn_a : preload_ ? true : !turn_a;
  const bool input_b = !multiply ? turn_b : preload_ ? true : !turn_b;
  const Queued* a = source(turn_a);
  const Queued* b = source(turn_b);
  const LocalAddress none;
  if (a != nullptr) {
    const Operand& o = command(*a).first;
    set_operand(operands_[0], input_a, o.at, config.a_transpose ? o.columns : o.rows, config.a_stride, false);
  } else {
    set_operand(operands_[0], input_a, none, 0, 1, false);
  }
  if (b != nullptr) {
    const Operand& o = command(*b).second;
    set_operand(operands_[1], input_b, b->dummy ? none : o.at, turn_b ? o.columns : o.rows, 1, false);
  } else {
    set_operand(operands_[1], input_b, none, 0, 1, false);
  }
  if (preload_) {
    const Queued& p = queue_.at(preload_at);
    const Operand& o = command(p).first;
    set_operand(operands_[2], true, p.no_source ? none : o.at, turn_d ? o.columns : o.rows, 1, true);
  } else {
    set_operand(operands_[2], false, none, 0, 1, true);
  }
  total_ = dim;
  if (ws && !turn_a && !turn_b && !turn_d && (!operands_[2].inputting || operands_[2].garbage)) {
    const int rows_a = !operands_[0].inputting || operands_[0].garbage ? 1 : operands_[0].rows;
    const int rows_b = !operands_[1].inputting || operands_[1].garbage ? 1 : operands_[1].rows;
    total_ = std::min(dim, std::max({rows_a, rows_b, timing_.rows_least}));
  }

  request_ = next_request_;
  next_request_ = (next_request_ + 1) % 16;
  Request& r = requests_[request_];
  r = Request();
  r.rows = total_;
  r.output_stationary = !ws;
  if (!ws) {
    r.result = held_result_;
    held_result_ = -1;
  }
  running_slot_ = head.slot;
  if (multiply && !head.dummy) {
    const Command& c = command(head);
    require_landed(operands_[1], total_, c);
    if (!turn_a) require_landed(operands_[0], total_, c);
    StepResult& result = results_[next_result_];
    compute(state_, c, now, result);
    if (!result.at.garbage()) {
      (ws ? r.result : held_result_) = next_result_;
      next_result_ = (next_result_ + 1) % static_cast<int>(results_.size());
    }
  }
  if (preload_) {
    const Queued& p = queue_.at(preload_at);
    const Command& c = command(p);
    require_landed(operands_[2], total_, c);
    if (!p.dummy) feed_preload(state_, c, now);
    if (!p.no_target && !c.second.at.garbage()) {
      r.slot = p.slot;
      r.at = c.second.at;
      r.origin = c.origin;
    }
  }
  started_ = false;
  mode_ = Mode::computing;
  (multiply && preload_ ? fused : alone) += 1;
}

// One cycle of reading operand rows: A before bias before weights where they share a bank, at most one row apart.
bool ExecuteUnit::fire(Cycle now, Ports& ports) {
  if (fed_.size() >= timing_.spad_latency) {
    control_block = true;
    wait = tags_.size() >= timing_.tags ? Wait::tag_limit : Wait::mesh_busy;
    return false;
  }
  const Geometry& g = state_.geometry;
  if (fire_together(now, ports)) return true;
  const int before = std::min({operands_[0].fired, operands_[1].fired, operands_[2].fired});
  int bank[3];  // accumulator banks count as one
  uint32_t row[3];
  for (int i = 0; i < 3; ++i) {
    const Operand_& o = operands_[i];
    bank[i] = -1;
    if (!o.inputting || o.garbage) continue;
    const int n = o.reversed ? g.dim - 1 - o.fired : o.fired;
    row[i] = o.base + static_cast<uint32_t>(n * o.stride);
    bank[i] = o.accumulator ? 1000 : static_cast<int>(bank_of(row[i] & spad_mask_));
  }
  bool goes[3];
  for (int i = 0; i < 3; ++i) {
    const Operand_& o = operands_[i];
    bool valid = o.fired < total_;
    for (int j = 0; j < 3 && valid; ++j) {
      if (j == i) continue;
      if (o.fired == operands_[j].fired + 1) valid = false;
      if (j < i && bank[i] >= 0 && bank[i] == bank[j] && o.fired == operands_[j].fired) {
        valid = false;
        ++conflicts;
      }
    }
    if (valid && bank[i] >= 0) {
      const int n = o.reversed ? g.dim - 1 - o.fired : o.fired;
      if (n < o.rows) {  // rows past the operand's are zeros and are not read
        if (o.accumulator) {
          const uint32_t b = 1u << g.accumulator_bank(static_cast<int>(row[i] & (g.accumulator_rows() - 1)));
          if ((ports.accumulator_busy & b) != 0) valid = false;
          else ports.accumulator_read |= b;
        } else {
          const uint32_t b = 1u << bank[i];
          if ((ports.spad_written & b) != 0) valid = false;
          else ports.spad_read |= b;
        }
        if (!valid) {
          ++bank_stalls;
          wait = Wait::bank;
        }
      }
    }
    goes[i] = valid;
  }
  bool slow = false;
  for (int i = 0; i < 3; ++i)
    if (goes[i]) {
      ++operands_[i].fired;
      slow = slow || (operands_[i].inputting && !operands_[i].garbage && operands_[i].accumulator);
    }
  const bool complete = std::min({operands_[0].fired, operands_[1].fired, operands_[2].fired}) > before;
  feed(now + (slow ? timing_.accumulator_read_latency : timing_.spad_latency), complete, before + 1);
  return true;
}

void ExecuteUnit::feed(Cycle at, bool complete, int fired) {
  Fed& f = fed_.push();
  f.at = at;
  f.request = request_;
  f.first = !started_;
  f.row = complete;
  started_ = true;
  if (complete) {
    ++rows;
    fed = true;
    if (fired == total_) end();
  }
}

// The usual case: the operands are at the same row, in different banks, and no bank is taken.
bool ExecuteUnit::fire_together(Cycle now, Ports& ports) {
  const Geometry& g = state_.geometry;
  const int fired = operands_[0].fired;
  if (operands_[1].fired != fired || operands_[2].fired != fired) return false;
  uint32_t used = 0;
  for (const Operand_& o : operands_) {
    if (!o.inputting || o.garbage) continue;
    if (o.accumulator) return false;
    const int n = o.reversed ? g.dim - 1 - fired : fired;
    const uint32_t bank = 1u << bank_of((o.base + static_cast<uint32_t>(n * o.stride)) & spad_mask_);
    if ((used & bank) != 0 || (n < o.rows && (ports.spad_written & bank) != 0)) return false;
    used |= bank;
    if (n < o.rows) ports.spad_read |= bank;
  }
  for (Operand_& o : operands_) ++o.fired;
  feed(now + timing_.spad_latency, true, fired + 1);
  return true;
}

void ExecuteUnit::end() {
  int at = 0;
  if (multiply_) {
    if (!queue_.front().dummy) pending_[0] = queue_.front().slot;
    at = 1;
  }
  if (preload_) {
    const Queued& p = queue_.at(at);
    if (!p.dummy && command(p).second.at.garbage()) pending_[multiply_ ? 1 : 0] = p.slot;
  }
  queue_.pop();
  if (multiply_ && preload_) queue_.pop();
  mode_ = Mode::waiting;
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
