// The path of a command from the core to the reservation station: five queues of two, with the two unrollers between
// them (Controller.scala). A command moves one queue a cycle; about ten wait here before the core feels it.
#pragma once

#include <cstdint>

#include "gemmini/command.hpp"
#include "gemmini/loop_conv.hpp"
#include "gemmini/loop_ws.hpp"
#include "gemmini/ports.hpp"
#include "gemmini/timing.hpp"

namespace strop::gemmini {

class FrontEnd {
 public:
  struct Raw {
    uint8_t funct = 0;
    uint64_t rs1 = 0, rs2 = 0;
    Origin origin;
    bool from_conv = false;
    int spare_rows = 0;  // see Command
  };
  struct Ready {              // decoded, before the station
    Command command;
    bool from_loop = false, from_conv = false;
  };

  FrontEnd(const Timing& timing, const Geometry& geometry, bool strict);
  void reset();

  bool room() const { return queues_[0].size() < timing_.front_queue; }
  void push(const Raw& raw) {
    queues_[0].push(raw);
    ++raw_;
  }
  // One cycle, the last queue first; the station has taken what it takes.
  bool step();
  bool idle() const { return raw_ == 0 && !looping(); }

  bool empty() const { return ready_.empty(); }
  Ready& front() { return ready_.front(); }
  const Ready& front() const { return ready_.front(); }
  void pop() { ready_.pop(); }
  // A command of an unroller left the station (completed, or a config issued).
  void completed(Unit unit, bool conv) { --in_station_[conv ? 1 : 0][static_cast<int>(unit) - 1]; }

  bool busy() const { return raw_ != 0 || !ready_.empty() || matmul_.busy() || conv_.busy(); }
  bool passed() const { return raw_ == 0 && ready_.empty(); }  // whatever was pushed has left
  bool matmul_looping() const { return matmul_.busy(); }
  bool looping() const { return matmul_.busy() || conv_.busy(); }

 private:
  bool matmul_stage();
  bool conv_stage();
  void emit(const Raw& raw, bool from_loop, bool from_conv);
  Full full(int which) const;
  uint8_t caps_of(int which) const;

  const Timing& timing_;
  Decoder decoder_;
  LoopWs matmul_;
  LoopConv conv_;
  Ring<Raw, 64> queues_[4];   // router, raw, convolution unroller's, matmul unroller's
  Ring<Ready, 64> ready_;
  int raw_ = 0;               // in queues_
  int in_station_[2][3] = {}; // per unroller and type: made and not completed
  int matmul_still_ = 0, conv_still_ = 0;  // cycles since the unroller gave a command or took one
  bool matmul_offers_ = false, conv_offers_ = false;  // it had a command when it was last asked,
  uint8_t matmul_caps_ = 0, conv_caps_ = 0;           // with these types full
};

}  // namespace strop::gemmini
