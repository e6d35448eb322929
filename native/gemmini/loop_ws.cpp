#include "gemmini/loop_ws.hpp"

#include <algorithm>

namespace strop::gemmini {

namespace {

uint32_t field(uint64_t word, int high, int low) {
  return static_cast<uint32_t>((word >> low) & ((uint64_t{1} << (high - low + 1)) - 1));
}

// Util.scala floorAdd: u + n, or 0 where that passes the end.
uint32_t floor_add(uint32_t u, uint32_t n, uint32_t end) { return u + n > end - 1 ? 0 : u + n; }

}  // namespace

LoopWs::LoopWs(const Geometry& geometry) : geometry_(geometry) { reset(); }

void LoopWs::reset() {
  for (Work& w : work_) w = Work();
  head_ = 0;
  sum_ = false;
  d_half_ = ex_half_ = c_half_ = 0;
  for (uint32_t n = 0; n < 2; n++) {
    loops_[n] = Loop();
    loops_[n].a_start = n * (geometry_.rows() / 2);
    loops_[n].b_end = (n + 1) * (geometry_.rows() / 2);
    loops_[n].sum_start = n * (geometry_.accumulator_rows() / 2);
  }
}

uint32_t LoopWs::half(uint32_t row) const {
  return floor_add(row, geometry_.accumulator_rows() / 2, geometry_.accumulator_rows());
}

void LoopWs::take(const Command& c) {
  Loop& loop = loops_[loops_[head_].configured ? 1 - head_ : head_];
  const uint64_t rs1 = c.rs1, rs2 = c.rs2;
  switch (c.funct) {
    case kLoopWsBounds:
      loop.i = field(rs2, 15, 0), loop.j = field(rs2, 31, 16), loop.k = field(rs2, 47, 32);
      loop.pad_i = field(rs1, 15, 0), loop.pad_j = field(rs1, 31, 16), loop.pad_k = field(rs1, 47, 32);
      return;
    case kLoopWsAddressesAB: loop.spad_only = false, loop.a = rs1, loop.b = rs2; return;
    case kLoopWsAddressesDC: loop.spad_only = false, loop.d = rs1, loop.c = rs2; return;
    case kLoopWsStridesAB: loop.a_stride = rs1, loop.b_stride = rs2; return;
    case kLoopWsStridesDC: loop.d_stride = rs1, loop.c_stride = rs2; return;
    case kLoopWsSpadAB:
      loop.a_start = static_cast<uint32_t>(rs1), loop.b_end = static_cast<uint32_t>(rs2);
      return;
    case kLoopWs: break;
    default: return;  // kLoopWsSpadC does nothing in the hardware either
  }
  loop.accumulate = rs1 & 1, loop.full_c = rs1 >> 1 & 1, loop.low_d = rs1 >> 2 & 1;
  loop.activation = static_cast<int>(field(rs1, 10, 8));
  loop.a_id = static_cast<int>(field(rs1, 19, 18)), loop.b_id = static_cast<int>(field(rs1, 17, 16));
  loop.a_transpose = rs2 & 1, loop.b_transpose = rs2 >> 1 & 1;
  loop.next_half = rs2 >> 8 & 1, loop.spad_only = rs2 >> 9 & 1;
  loop.c_spad = static_cast<uint32_t>(rs2 >> 32);
  sum_ = rs2 >> 2 & 1;
  for (int m = 0; m < 5; m++) loop.started[m] = loop.completed[m] = rs2 >> (3 + m) & 1;
  loop.origin = c.origin;
  loop.made = 0;

  const auto dim = static_cast<uint64_t>(geometry_.dim);
  const uint64_t i = loop.i, j = loop.j, k = sum_ ? 1 : loop.k;
  if (i == 0 || j == 0 || k == 0) refuse(c, "a loop over nothing: I, J and K must be at least 1");
  if (loop.pad_i >= dim || loop.pad_j >= dim || (!sum_ && loop.pad_k >= dim))
    refuse(c, "a padding of " + std::to_string(dim) + " or more is a whole tile");
  if (!sum_ && loop.a_transpose && loop.b_transpose) refuse(c, "it can't transpose both A and B");
  if (loop.a_id > 2 || loop.b_id > 2) refuse(c, "the scratchpad has halves 1 and 2");
  if ((rs2 >> 3 & 31) == 31) refuse(c, "all of its parts are skipped");
  const uint64_t room = static_cast<uint64_t>(geometry_.rows()) / (loop.spad_only ? 1 : 2);
  if (!sum_ && (i * k + k * j) * dim > room)
    refuse(c, "A and B take " + std::to_string((i * k + k * j) * dim) + " rows; there are " + std::to_string(room));
  if (i * j * dim > static_cast<uint64_t>(geometry_.accumulator_rows()) / 2)
    refuse(c, "C takes " + std::to_string(i * j * dim) + " rows; half of the accumulator has " +
                  std::to_string(geometry_.accumulator_rows() / 2));
  loop.configured = true;
}

// --- the arbiter --------------------------------------------------------------------------------------------------

bool LoopWs::normalising(const Work& w) const {
  const auto activation = static_cast<Activation>(w.of.activation);
  return !w.to_spad && (activation == Activation::layernorm || activation == Activation::softmax);
}

bool LoopWs::empty(Maker m) const {  // a request for nothing: the maker goes idle without a command
  const Work& w = work_[m];
  return (m == kA && w.of.a == 0) || (m == kB && w.of.b == 0) || (m == kD && w.of.d == 0) || (m == kEx && sum_) ||
         (m == kC && !w.to_spad && w.of.c == 0);
}

bool LoopWs::executable(const Work& ex) const {
  const Work &a = work_[kA], &b = work_[kB], &d = work_[kD];
  const bool a_done = a.loop != ex.loop || a.idle, b_done = b.loop != ex.loop || b.idle;
  const bool d_done = d.loop != ex.loop || d.idle;
  const bool a_ahead = a_done || a.k > ex.k || (a.k == ex.k && a.i > ex.i);
  const bool b_ahead = b_done || b.k > ex.k || (a.k == ex.k && b.j > ex.j);  // A's counter: so is the hardware
  return a_ahead && b_ahead && d_done;
}

bool LoopWs::storable(const Work& st) const {
  const Work &a = work_[kA], &b = work_[kB], &ex = work_[kEx];
  const uint32_t n = blocks(st.of.full_c || st.to_spad ? 1 : geometry_.max_blocks(), st.j, st.of.j);
  if (sum_)
    return ((a.loop != st.loop || a.idle) && (b.loop != st.loop || b.idle)) || b.k > st.i ||
           (b.k == st.i && b.j >= st.j + n);
  if (ex.loop != st.loop || ex.idle) return true;
  const auto activation = static_cast<Activation>(st.of.activation);
  if (activation == Activation::layernorm || activation == Activation::softmax) return false;
  return ex.k == st.of.k - 1 && (ex.j >= st.j + n || (ex.j == st.j + n - 1 && ex.i > st.i));
}

bool LoopWs::valid(Maker m, const Full& full) const {
  const Work& w = work_[m];
  if (w.idle || empty(m)) return false;
  if (m == kEx) return !full.execute && executable(w);
  if (m == kC) return !full.store && storable(w);
  return !full.load;
}

// WeightedArbiter.scala: the loop at the head first; within one loop by k, so that neither runs ahead.
bool LoopWs::chooses_a() const {
  const Work &a = work_[kA], &b = work_[kB];
  const bool same = a.loop == b.loop;
  const bool force_a = sum_ ? same && !a.idle : !same && a.loop == head_;
  const bool force_b = sum_ ? (!same && b.loop == head_) || a.idle : !same && b.loop == head_;
  if (force_a) return true;
  if (force_b || a.idle) return false;
  if (b.idle) return true;
  return !(a.k > b.k || (b.k == 0 && b.j == 0));
}

const Plain* LoopWs::offer(const Full& full) {
  const Maker ab = chooses_a() ? kA : kB;
  const bool to_spad = work_[kC].to_spad;  // stores to the scratchpad come last
  const Maker order[2][4] = {{kC, kEx, kD, ab}, {kEx, kD, ab, kC}};
  for (const Maker maker : order[to_spad])
    if (valid(maker, full)) {
      offered_ = maker;
      make(offered_);
      return &plain_;
    }
  return nullptr;
}

// --- a cycle's end ------------------------------------------------------------------------------------------------

bool LoopWs::wants(Maker m, const Loop& loop) const {
  if (!loop.configured || loop.started[m]) return false;
  if (m == kEx) return loop.started[kA] && loop.started[kB] && loop.started[kD];
  if (m == kC && !sum_) return loop.started[kEx];
  return true;
}

void LoopWs::tick(bool accepted) {
  // All registers change at once: what starts and what completes is decided by the state before.
  int starts[5];
  bool done[5];
  for (int m = 0; m < 5; m++) {
    const int id = loops_[head_].started[m] ? 1 - head_ : head_;
    starts[m] = work_[m].idle && wants(static_cast<Maker>(m), loops_[id]) ? id : -1;
    const Loop& mine = loops_[work_[m].loop];
    done[m] = work_[m].idle && mine.running && mine.started[m];
  }
  const Loop& head = loops_[head_];
  const bool finished = head.running && std::all_of(head.completed, head.completed + 5, [](bool x) { return x; });

  for (int m = 0; m < 5; m++) {
    const auto maker = static_cast<Maker>(m);
    if (!work_[m].idle && empty(maker))
      work_[m].idle = true;
    else if (accepted && offered_ == maker)
      loops_[work_[m].loop].made++, advance(maker);
    if (done[m]) loops_[work_[m].loop].completed[m] = true;
  }
  for (int m = 0; m < 5; m++)
    if (starts[m] >= 0) start(static_cast<Maker>(m), starts[m]);
  if (finished) {
    Loop& old = loops_[head_];
    old.configured = old.running = old.spad_only = false;
    std::fill(old.started, old.started + 5, false);
    std::fill(old.completed, old.completed + 5, false);
    head_ = 1 - head_;
  }
}

void LoopWs::start(Maker m, int id) {
  Loop& loop = loops_[id];
  Work& w = work_[m];
  const uint32_t half_rows = static_cast<uint32_t>(geometry_.rows()) / 2;
  w = Work();
  w.idle = false;
  w.loop = id;
  w.of = loop;
  w.a_start = loop.a_id == 0 || (m == kEx && loop.spad_only) ? loop.a_start : (loop.a_id - 1) * half_rows;
  const uint32_t b_end = loop.b_id == 0 || (m == kEx && loop.spad_only) ? loop.b_end : loop.b_id * half_rows;
  w.b_start = b_end - loop.k * loop.j * geometry_.dim;
  const bool leaves = loop.spad_only ? loop.next_half : loop.c != 0;
  switch (m) {
    case kA:
      w.start = sum_ ? loop.sum_start : w.a_start;
      if (sum_) w.of.k = loop.j, w.of.pad_k = loop.pad_j;
      break;
    case kB:
      w.start = sum_ ? loop.sum_start : w.b_start;
      if (sum_) w.of.k = loop.i, w.of.pad_k = loop.pad_i;
      break;
    case kD:
      w.start = d_half_;
      if (loop.c != 0) d_half_ = half(d_half_);
      break;
    case kEx:
      w.start = ex_half_;
      if (leaves) ex_half_ = half(ex_half_);
      break;
    case kC:
      w.start = sum_ ? loop.sum_start : c_half_;
      w.to_spad = loop.spad_only;
      w.configuring = normalising(w);
      if (sum_) w.of.k = 1;
      if (leaves) c_half_ = half(c_half_);
      break;
  }
  loop.running = true;
  loop.started[m] = true;
}

// --- how a maker goes on ------------------------------------------------------------------------------------------

uint32_t LoopWs::blocks(uint32_t most, uint32_t column, uint32_t columns) const {
  const uint32_t n = std::min(most, columns);
  return column + n <= columns ? n : columns - column;
}

void LoopWs::advance(Maker m) {
  Work& w = work_[m];
  const uint32_t most = geometry_.max_blocks();
  bool ended = false;
  if (m == kA) {  // inner i, outer k; several blocks at once along the stored row
    const uint32_t n = std::min(most, w.of.a_transpose ? w.of.i : w.of.k);
    w.i = floor_add(w.i, w.of.a_transpose ? n : 1, w.of.i);
    if (w.i == 0) w.k = floor_add(w.k, w.of.a_transpose ? 1 : n, w.of.k);
    ended = w.i == 0 && w.k == 0;
  } else if (m == kB) {
    const uint32_t n = std::min(most, w.of.b_transpose ? w.of.k : w.of.j);
    w.j = floor_add(w.j, w.of.b_transpose ? 1 : n, w.of.j);
    if (w.j == 0) w.k = floor_add(w.k, w.of.b_transpose ? n : 1, w.of.k);
    ended = w.j == 0 && w.k == 0;
  } else if (m == kD) {
    const uint32_t n = std::min<uint32_t>(w.of.low_d ? most : geometry_.max_accumulator_blocks(), w.of.j);
    w.i = floor_add(w.i, 1, w.of.i);
    if (w.i == 0) w.j = floor_add(w.j, n, w.of.j);
    ended = w.i == 0 && w.j == 0;
  } else if (m == kEx) {
    ended = advance_execute(w);
  } else {
    ended = advance_store(w);
  }
  w.idle = ended;
}

bool LoopWs::advance_execute(Work& w) {
  w.computing = !w.computing;
  if (w.computing) return false;
  w.i = floor_add(w.i, 1, w.of.i);
  if (w.i == 0) w.j = floor_add(w.j, 1, w.of.j);
  if (w.i == 0 && w.j == 0) w.k = floor_add(w.k, 1, w.of.k);
  return w.i == 0 && w.j == 0 && w.k == 0;
}

bool LoopWs::advance_store(Work& w) {
  const uint32_t most = w.of.full_c || w.to_spad ? 1 : std::min<uint32_t>(geometry_.max_blocks(), w.of.j);
  if (!normalising(w)) {
    w.i = floor_add(w.i, 1, w.of.i);
    if (w.i == 0) w.j = floor_add(w.j, most, w.of.j);
    return w.i == 0 && w.j == 0;
  }
  if (w.configuring) {
    w.configuring = false;
    return false;
  }
  const uint32_t rows = geometry_.dim - (w.i == w.of.i - 1 ? w.of.pad_i : 0);
  w.j = floor_add(w.j, most, w.of.j);
  if (w.j != 0) return false;
  w.configuring = true;
  w.stat = floor_add(w.stat, 1, std::min(2u, rows - w.row));
  if (w.stat != 0) return false;
  w.command = floor_add(w.command, 1, 3);
  if (w.command != 0) return false;
  w.row = floor_add(w.row, 2, rows);
  if (w.row != 0) return false;
  w.i = floor_add(w.i, 1, w.of.i);
  return w.i == 0;
}

}  // namespace strop::gemmini
