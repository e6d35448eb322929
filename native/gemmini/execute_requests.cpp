// Requests to the array: which commands go in together, and how the rows of their operands are read.
#include <algorithm>
#include <stdexcept>

#include "gemmini/execute_unit.hpp"

namespace strop::gemmini {

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

}  // namespace strop::gemmini
