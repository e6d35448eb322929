#include "gemmini/front_end.hpp"

namespace strop::gemmini {

namespace {

bool of_conv(uint8_t funct) { return funct >= kLoopConv && funct <= kLoopConv6; }
bool of_matmul(uint8_t funct) {
  return (funct >= kLoopWs && funct <= kLoopWsStridesDC) || funct == kLoopWsSpadAB || funct == kLoopWsSpadC;
}
// Of an unroller, how many cycles without a command it takes until nothing in it can change by itself.
constexpr int kSettled = 10;

}  // namespace

FrontEnd::FrontEnd(const Timing& timing, const Geometry& geometry, bool strict)
    : timing_(timing), decoder_(geometry, strict), matmul_(geometry), conv_(geometry) {}

void FrontEnd::reset() {
  decoder_.reset();
  matmul_.reset();
  conv_.reset();
  for (auto& q : queues_) q.clear();
  ready_.clear();
  raw_ = still_ = 0;
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

void FrontEnd::emit(const Raw& raw, bool from_loop, bool from_conv) {
  Ready& r = ready_.push();
  r.command = decoder_.decode(raw.funct, raw.rs1, raw.rs2, raw.origin);
  r.from_loop = from_loop;
  r.from_conv = from_conv;
}

// The matmul unroller: its own commands while a loop is configured, otherwise what passes through.
bool FrontEnd::matmul_stage() {
  auto& in = queues_[3];
  const bool room = ready_.size() < timing_.front_queue;
  const bool looping = matmul_.busy();
  bool changed = false;
  if (looping) {
    const Plain* plain = matmul_.offer(full(0));
    const bool accepted = plain != nullptr && room;
    if (accepted) {
      ++in_station_[0][static_cast<int>(plain->unit) - 1];
      emit(Raw{plain->funct, plain->rs1, plain->rs2, plain->origin, false}, true, false);
      changed = true;
    }
    matmul_.tick(accepted);
  }
  if (!in.empty()) {
    const Raw& head = in.front();
    if (of_matmul(head.funct)) {
      if (matmul_.can_take()) {
        matmul_.take(decoder_.decode(head.funct, head.rs1, head.rs2, head.origin));
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
  if (looping) {
    const Plain* plain = conv_.offer(full(1));
    const bool accepted = plain != nullptr && room;
    if (accepted) {
      ++in_station_[1][static_cast<int>(plain->unit) - 1];
      out.push(Raw{plain->funct, plain->rs1, plain->rs2, plain->origin, true});
      ++raw_;
      changed = true;
    }
    conv_.tick(accepted);
  }
  if (!in.empty()) {
    const Raw& head = in.front();
    if (of_conv(head.funct)) {
      if (conv_.can_take()) {
        conv_.take(decoder_.decode(head.funct, head.rs1, head.rs2, head.origin));
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

bool FrontEnd::step(Cycle) {
  if (raw_ == 0 && !looping()) return false;
  bool changed = matmul_stage();
  changed = conv_stage() || changed;
  for (int q = 1; q >= 0; --q) {
    if (!queues_[q].empty() && queues_[q + 1].size() < timing_.front_queue) {
      queues_[q + 1].push(queues_[q].front());
      queues_[q].pop();
      changed = true;
    }
  }
  if (!looping()) return changed;
  still_ = changed ? 0 : still_ + 1;
  return still_ < kSettled;
}

}  // namespace strop::gemmini
