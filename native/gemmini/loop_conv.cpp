#include "gemmini/loop_conv.hpp"

#include <algorithm>

namespace strop::gemmini {

namespace {

int field(uint64_t word, int high, int low) {
  return static_cast<int>((word >> low) & ((uint64_t{1} << (high - low + 1)) - 1));
}

int undilated(int x, bool dilated) { return dilated ? (x + 1) >> 1 : x; }
int tiles(int n, int dim) { return (n + dim - 1) / dim; }

// A product of bounds, which are at most 4096 each, not past what `check` refuses anyhow.
int span(int64_t a, int64_t b, int64_t c) {
  const int64_t most = int64_t{1} << 30;
  return static_cast<int>(std::min(std::min(a * b, most) * c, most));
}

}  // namespace

LoopConv::LoopConv(const Geometry& geometry) : geometry_(geometry) { reset(); }

void LoopConv::reset() {
  for (Work& w : work_) w = Work();
  head_ = 0;
  bias_half_ = ex_half_ = st_half_ = 0;
  for (uint32_t n = 0; n < 2; n++) {
    loops_[n] = Loop();
    loops_[n].a_start = n * (geometry_.rows() / 2);
    loops_[n].b_end = (n + 1) * (geometry_.rows() / 2);
  }
}

void LoopConv::take(const Command& c) {
  Loop& l = loops_[loops_[head_].configured ? 1 - head_ : head_];
  const uint64_t rs1 = c.rs1, rs2 = c.rs2;
  switch (c.funct) {
    case kLoopConv1:
      l.out_channels = field(rs1, 63, 48), l.in_channels = field(rs1, 47, 32), l.in_rows = field(rs1, 31, 16);
      l.batch_size = field(rs1, 15, 0), l.stride = field(rs2, 55, 48), l.out_columns = field(rs2, 47, 32);
      l.pool_out_rows = field(rs2, 31, 16), l.out_rows = field(rs2, 15, 0);
      return;
    case kLoopConv2:
      l.kernel = field(rs1, 63, 48), l.pool_out_columns = field(rs1, 47, 32), l.pool_size = field(rs1, 31, 16);
      l.pool_stride = field(rs1, 15, 8), l.batches = field(rs2, 63, 48), l.pool_rows = field(rs2, 47, 32);
      l.pool_columns = field(rs2, 31, 16), l.ochs = field(rs2, 15, 0);
      return;
    case kLoopConv3:
      l.krows = field(rs1, 63, 48), l.kcols = field(rs1, 47, 32), l.kchs = field(rs1, 31, 16), l.lpad = field(rs1, 15, 0);
      l.rpad = field(rs2, 63, 48), l.upad = field(rs2, 47, 32), l.dpad = field(rs2, 31, 24);
      l.plpad = field(rs2, 23, 16), l.in_columns = field(rs2, 15, 0);
      return;
    case kLoopConv4:
      l.orows = field(rs1, 63, 48), l.pupad = field(rs1, 31, 21), l.kernel_dilation = field(rs1, 9, 0);
      l.ocols = field(rs2, 15, 0), l.in_stride = field(rs2, 63, 48), l.weight_stride = field(rs2, 47, 32);
      l.out_stride = field(rs2, 31, 16);
      return;
    case kLoopConv5: l.weights = rs1, l.output = rs2; return;
    case kLoopConv6: l.bias = rs1, l.input = rs2; return;
    default: break;
  }
  l.no_bias = rs1 & 1, l.turned_weights = rs1 >> 1 & 1, l.output_1203 = rs1 >> 2 & 1, l.weight_1203 = rs1 >> 3 & 1;
  l.weight_0132 = rs1 >> 4 & 1, l.input_3120 = rs1 >> 5 & 1, l.depthwise = rs1 >> 6 & 1;
  l.pixels = !geometry_.pixel_repeats || field(rs1, 15, 8) == 0 ? 1 : field(rs1, 15, 8);
  l.a_id = field(rs1, 19, 18), l.b_id = field(rs1, 17, 16);
  l.no_pool = rs2 & 1, l.downsample = rs2 >> 1 & 1, l.dilated = rs2 >> 2 & 1, l.activation = field(rs2, 4, 3);
  l.origin = c.origin;
  l.made = 0;
  check_bounds(l, c);
  derive(l);
  check_fit(l, c);
  l.configured = true;
}

void LoopConv::derive(Loop& l) const {
  const int krows = l.krows + (l.kernel_dilation - 1) * (l.krows - 1),
            kcols = l.kcols + (l.kernel_dilation - 1) * (l.kcols - 1);
  const int irows = l.orows * l.stride + krows - 1, icols = l.ocols * l.stride + kcols - 1;
  l.irows_unpadded = undilated(irows - l.upad - l.dpad, l.dilated);
  l.icols_unpadded = undilated(icols - l.lpad - l.rpad, l.dilated);
  l.irows = l.dilated ? l.irows_unpadded + undilated(l.upad, true) + undilated(l.dpad, true) : irows;
  l.icols = l.dilated ? l.icols_unpadded + undilated(l.lpad, true) + undilated(l.rpad, true) : icols;
  l.bias_span = span(l.batches, l.orows, l.ocols);
  l.input_span = span(l.irows >> l.downsample, l.icols >> l.downsample, l.input_3120 ? l.kchs : l.batches);
  l.weight_span = span(l.krows, l.kcols, l.weight_0132 ? l.ochs : l.kchs);
  l.b_rows = span(tiles(l.weight_0132 ? l.kchs : l.ochs, geometry_.dim), l.weight_span, 1);
}

void LoopConv::check_bounds(const Loop& l, const Command& c) const {
  for (int n : {l.batches, l.ochs, l.krows, l.kcols, l.kchs, l.orows, l.ocols, l.stride, l.kernel_dilation}) {
    if (n == 0) refuse(c, "a convolution over nothing: one of its bounds is 0");
    if (n > 4096) refuse(c, "one of its bounds is " + std::to_string(n) + "; at most 4096 fit");
  }
  if (l.kernel_dilation > 64) refuse(c, "a kernel dilation of " + std::to_string(l.kernel_dilation));
}

void LoopConv::check_fit(const Loop& l, const Command& c) const {
  if (l.irows_unpadded < 0 || l.icols_unpadded < 0) refuse(c, "its padding is larger than its image");
  if (l.dilated && l.stride != 1) refuse(c, "a dilated input takes stride 1");
  if (l.a_id > 2 || l.b_id > 2) refuse(c, "the scratchpad has halves 1 and 2");
  const int64_t a_rows = static_cast<int64_t>(tiles(l.input_3120 ? l.batches : l.kchs, geometry_.dim)) * l.input_span;
  if (a_rows + l.b_rows > geometry_.rows() / 2)
    refuse(c, "input and weights take " + std::to_string(a_rows + l.b_rows) + " rows; half of the scratchpad has " +
                  std::to_string(geometry_.rows() / 2));
  const int64_t c_rows = static_cast<int64_t>(tiles(l.ochs, geometry_.dim)) * l.bias_span;
  if (c_rows > geometry_.accumulator_rows() / 2)
    refuse(c, "the output takes " + std::to_string(c_rows) + " rows; half of the accumulator has " +
                  std::to_string(geometry_.accumulator_rows() / 2));
}

// --- cycles -------------------------------------------------------------------------------------------------------

bool LoopConv::nothing(Maker m) const {  // a request without an address: the maker goes idle without a command
  const Loop& of = work_[m].of;
  return (m == kBias && of.bias == 0) || (m == kInput && of.input == 0) || (m == kWeights && of.weights == 0) ||
         (m == kSt && of.output == 0);
}

bool LoopConv::waits_for_previous(Maker m) const {
  const Work& ex = work_[kEx];
  const Loop& l = loops_[ex.loop];
  return l.started[kEx] && !l.completed[kEx] && !(l.completed[kInput] && l.completed[kWeights] && l.completed[kBias]) &&
         work_[m].loop != ex.loop;
}

bool LoopConv::skips(const Work& w) const {
  if (w.step < Step::work || !w.of.dilated) return false;
  return ((w.krow * w.of.kernel_dilation + w.orow - w.of.upad) & 1) != 0 ||
         ((w.kcol * w.of.kernel_dilation + w.ocol - w.of.lpad) & 1) != 0;
}

bool LoopConv::produces(Maker m) const {
  const Work& w = work_[m];
  if (w.step == Step::idle || nothing(m)) return false;
  if (m == kEx) {
    if (skips(w)) return false;
    for (Maker load : {kBias, kInput, kWeights})
      if (work_[load].loop == w.loop && !work_[load].idle()) return false;
    return true;
  }
  if (m == kSt) return work_[kEx].loop != w.loop || work_[kEx].idle();
  return !waits_for_previous(m);
}

const Plain* LoopConv::offer(const Full& full) {
  for (const Maker m : {kSt, kEx, kBias, kWeights, kInput}) {
    const bool is_full = m == kSt ? full.store : m == kEx ? full.execute : full.load;
    if (!work_[m].filled[1] || is_full) continue;
    offered_ = m;
    plain_ = work_[m].pipe[1];
    return &plain_;
  }
  return nullptr;
}

bool LoopConv::wants(Maker m, const Loop& l) const {
  if (!l.configured || l.started[m]) return false;
  if (m == kEx) return l.started[kBias] && l.started[kInput] && l.started[kWeights];
  return m != kSt || l.started[kEx];
}

void LoopConv::tick(bool accepted) {
  int starts[5];
  bool done[5], gives[5], skipped[5];
  for (int n = 0; n < 5; n++) {
    const auto m = static_cast<Maker>(n);
    const Work& w = work_[n];
    const int id = loops_[head_].started[n] ? 1 - head_ : head_;
    starts[n] = w.idle() && wants(m, loops_[id]) ? id : -1;
    done[n] = w.idle() && loops_[w.loop].running && loops_[w.loop].started[n];
    skipped[n] = m == kEx && skips(w);
    const bool leaves = accepted && offered_ == m, stuck = w.filled[0] && w.filled[1] && !leaves;
    gives[n] = !stuck && produces(m);
  }
  const Loop& head = loops_[head_];
  const bool finished = head.running && std::all_of(head.completed, head.completed + 5, [](bool x) { return x; });

  for (int n = 0; n < 5; n++) {
    const auto m = static_cast<Maker>(n);
    Work& w = work_[n];
    if (accepted && offered_ == m) w.filled[1] = false;
    if (w.filled[0] && !w.filled[1]) {
      w.pipe[1] = w.pipe[0];
      w.filled[1] = true;
      w.filled[0] = false;
    }
    if (gives[n]) {
      w.pipe[0] = made(m);
      w.filled[0] = true;
    }
    if (w.step != Step::idle && nothing(m))
      w.step = Step::idle;
    else if (gives[n] || skipped[n])
      advance(m, skipped[n]);
    if (done[n]) loops_[w.loop].completed[n] = true;
  }
  for (int n = 0; n < 5; n++)
    if (starts[n] >= 0) start(static_cast<Maker>(n), starts[n]);
  if (finished) {
    Loop& old = loops_[head_];
    old.configured = old.running = false;
    std::fill(old.started, old.started + 5, false);
    std::fill(old.completed, old.completed + 5, false);
    head_ = 1 - head_;
  }
}

void LoopConv::start(Maker m, int id) {
  Loop& l = loops_[id];
  Work& w = work_[m];
  const uint32_t half_rows = static_cast<uint32_t>(geometry_.rows()) / 2;
  const uint32_t sums = static_cast<uint32_t>(geometry_.accumulator_rows());
  w = Work();
  w.step = m == kEx && !l.input_3120 ? Step::work : m == kSt && l.no_pool ? Step::work : Step::config;
  w.loop = id;
  w.of = l;
  w.a_start = l.a_id == 0 ? l.a_start : (l.a_id - 1) * half_rows;
  w.b_start = (l.b_id == 0 ? l.b_end : l.b_id * half_rows) - static_cast<uint32_t>(l.b_rows);
  w.irow = -undilated(l.upad, l.dilated);
  w.icol = -undilated(l.lpad, l.dilated);
  if (m == kBias || m == kEx || m == kSt) {
    uint32_t& half = m == kBias ? bias_half_ : m == kEx ? ex_half_ : st_half_;
    w.start = half;
    if (l.output != 0) half = half + sums / 2 >= sums ? 0 : half + sums / 2;
  }
  l.running = true;
  l.started[m] = true;
}

}  // namespace strop::gemmini
