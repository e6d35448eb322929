#include "gemmini/front_end.hpp"

namespace strop::gemmini {

namespace {

bool of_conv(uint8_t funct) { return funct >= kLoopConv && funct <= kLoopConv6; }
bool of_matmul(uint8_t funct) {
  return (funct >= kLoopWs && funct <= kLoopWsStridesDC) || funct == kLoopWsSpadAB || funct == kLoopWsSpadC;
}
// After so many cycles without a command nothing in an unroller changes by itself: the longest chain of registers is
// load done, loop's load completed, loop completed, next loop at the head, its makers started.
constexpr int kSettled = 8;

}  // namespace

FrontEnd::FrontEnd(const Timing& timing, const Geometry& geometry, bool strict)
    : timing_(timing), decoder_(geometry, strict), matmul_(geometry), conv_(geometry) {}

void FrontEnd::reset() {
  decoder_.reset();
  matmul_.reset();
  conv_.reset();
  for (auto& q : queues_) q.clear();
  ready_.clear();
  raw_ = matmul_still_ = conv_still_ = 0;
  matmul_offers_ = conv_offers_ = false;
  matmul_caps_ = conv_caps_ = 0;
  for (auto& per : in_station_)
    for (int& n : per) n = 0;
}

Full FrontEnd::full(int which) const {
  Full f;
  f.load = in_station_[which][0] >= timing_.load_entries;
  f.store = in_station_[which][1] >= timing_.store_entries;
  f.execute = in_station_[which][2] >= timing_.execute_entries;
  return f;
}

uint8_t FrontEnd::caps_of(int which) const {
  const Full f = full(which);
  return static_cast<uint8_t>(f.load | f.store << 1 | f.execute << 2);
}

void FrontEnd::emit(const Raw& raw, bool from_loop, bool from_conv) {
  Ready& r = ready_.push();
  r.command = decoder_.decode(raw.funct, raw.rs1, raw.rs2, raw.origin);
  r.command.spare_rows = raw.spare_rows;
  r.from_loop = from_loop;
  r.from_conv = from_conv;
}

// The matmul unroller: its own commands while a loop is configured, otherwise what passes through.
bool FrontEnd::matmul_stage() {
  auto& in = queues_[3];
  const bool room = ready_.size() < timing_.front_queue;
  const bool looping = matmul_.busy();
  bool changed = false;
  const uint8_t caps = caps_of(0);
  if (looping && (matmul_still_ < kSettled || (room && (matmul_offers_ || caps != matmul_caps_)))) {
    const Plain* plain = matmul_.offer(full(0));
    matmul_offers_ = plain != nullptr;
    matmul_caps_ = caps;
    const bool accepted = plain != nullptr && room;
    if (accepted) {
      ++in_station_[0][static_cast<int>(plain->unit) - 1];
      emit(Raw{plain->funct, plain->rs1, plain->rs2, plain->origin, false, plain->spare_rows}, true, false);
      changed = true;
    }
    matmul_.tick(accepted);
    matmul_still_ = accepted ? 0 : matmul_still_ + 1;
  }
  if (!in.empty()) {
    const Raw& head = in.front();
    if (of_matmul(head.funct)) {
      if (matmul_.can_take()) {
        matmul_.take(decoder_.decode(head.funct, head.rs1, head.rs2, head.origin));
        matmul_still_ = 0;
        in.pop();
        --raw_;
        changed = true;
      }
    } else if (!looping && room) {
      emit(head, head.from_conv, head.from_conv);
      in.pop();
      --raw_;
      changed = true;
    }
  }
  return changed;
}

bool FrontEnd::conv_stage() {
  auto& in = queues_[2];
  auto& out = queues_[3];
  const bool room = out.size() < timing_.front_queue;
  const bool looping = conv_.busy();
  bool changed = false;
  const uint8_t caps = caps_of(1);
  const bool skipping = looping && conv_.skipping();
  if (looping && (skipping || conv_still_ < kSettled || (room && (conv_offers_ || caps != conv_caps_)))) {
    const Plain* plain = conv_.offer(full(1));
    conv_offers_ = plain != nullptr;
    conv_caps_ = caps;
    const bool accepted = plain != nullptr && room;
    if (accepted) {
      ++in_station_[1][static_cast<int>(plain->unit) - 1];
      out.push(Raw{plain->funct, plain->rs1, plain->rs2, plain->origin, true});
      ++raw_;
      changed = true;
    }
    conv_.tick(accepted);
    conv_still_ = accepted || skipping ? 0 : conv_still_ + 1;
  }
  if (!in.empty()) {
    const Raw& head = in.front();
    if (of_conv(head.funct)) {
      if (conv_.can_take()) {
        conv_.take(decoder_.decode(head.funct, head.rs1, head.rs2, head.origin));
        conv_still_ = 0;
        in.pop();
        --raw_;
        changed = true;
      }
    } else if (!looping && room) {
      out.push(head);
      in.pop();
      changed = true;
    }
  }
  return changed;
}

bool FrontEnd::step() {
  bool changed = matmul_stage();
  changed = conv_stage() || changed;
  for (int q = 1; q >= 0; --q) {
    if (!queues_[q].empty() && queues_[q + 1].size() < timing_.front_queue) {
      queues_[q + 1].push(queues_[q].front());
      queues_[q].pop();
      changed = true;
    }
  }
  // An unroller may change by itself for a while without giving a command.
  return changed || (matmul_.busy() && matmul_still_ < kSettled) || (conv_.busy() && conv_still_ < kSettled);
}

}  // namespace strop::gemmini
