// The convolution unroller (LoopConv.scala): as loop_ws, with commands that pass a pipeline of `latency` cycles.
// Driven like LoopWs: offer at the start of a cycle, tick at its end.
#pragma once

#include <cstdint>

#include "gemmini/command.hpp"
#include "gemmini/loop_ws.hpp"

namespace strop::gemmini {

class LoopConv {
 public:
  explicit LoopConv(const Geometry& geometry);
  void reset();

  bool busy() const { return loops_[0].configured || loops_[1].configured; }
  bool can_take() const { return !loops_[0].configured || !loops_[1].configured; }
  // `command` is a loop_conv_setting or loop_conv. Throws rocket::Trap{illegal_command} for a loop that doesn't fit.
  void take(const Command& command);

  const Plain* offer(const Full& full);
  void tick(bool accepted);
  // The next tick passes over a step of a dilated convolution: no command comes of it, and it isn't at rest.
  bool skipping() const { return skips(work_[kEx]); }

 private:
  struct Loop {
    // Outer bounds: of the whole tensors.
    int batch_size = 0, in_rows = 0, in_columns = 0, in_channels = 0, out_channels = 0, out_rows = 0, out_columns = 0,
        pool_out_rows = 0, pool_out_columns = 0, stride = 0, kernel = 0, kernel_dilation = 0, pool_size = 0,
        pool_stride = 0, in_stride = 0, weight_stride = 0, out_stride = 0;
    // Inner bounds: of this piece.
    int batches = 0, pool_rows = 0, pool_columns = 0, ochs = 0, krows = 0, kcols = 0, kchs = 0, lpad = 0, rpad = 0,
        upad = 0, dpad = 0, plpad = 0, pupad = 0, orows = 0, ocols = 0;
    uint64_t bias = 0, weights = 0, input = 0, output = 0;
    bool no_bias = false, turned_weights = false, no_pool = false, downsample = false, dilated = false,
         output_1203 = false, weight_1203 = false, weight_0132 = false, input_3120 = false, depthwise = false;
    int activation = 0, pixels = 1, a_id = 0, b_id = 0;
    // Derived.
    int irows = 0, icols = 0, irows_unpadded = 0, icols_unpadded = 0, bias_span = 0, input_span = 0, weight_span = 0,
        b_rows = 0;
    uint32_t a_start = 0, b_end = 0;
    Origin origin;
    uint32_t made = 0;
    bool configured = false, running = false;
    bool started[5] = {}, completed[5] = {};  // by Maker
  };
  enum Maker { kBias, kInput, kWeights, kEx, kSt };
  enum class Step : uint8_t { idle, config, work, compute, after };
  struct Work {
    Step step = Step::idle;
    int loop = 0;
    Loop of;
    uint32_t start = 0, a_start = 0, b_start = 0;
    int b = 0, orow = 0, ocol = 0, och = 0;           // bias, execute, store
    int irow = 0, icol = 0, ich = 0;                  // input
    int krow = 0, kcol = 0, kch = 0;                  // weights, execute
    bool new_weights = true;
    Plain pipe[2];
    bool filled[2] = {};
    bool idle() const { return step == Step::idle && !filled[0] && !filled[1]; }
  };

  void derive(Loop& loop) const;
  void check_bounds(const Loop& loop, const Command& command) const;
  void check_fit(const Loop& loop, const Command& command) const;
  bool nothing(Maker maker) const;
  bool produces(Maker maker) const;
  bool skips(const Work& ex) const;
  bool waits_for_previous(Maker maker) const;
  bool wants(Maker maker, const Loop& loop) const;
  void start(Maker maker, int loop);

  Plain made(Maker maker);
  void make_bias(const Work& w, Plain& p) const;
  void make_input(const Work& w, Plain& p) const;
  void make_weights(const Work& w, Plain& p) const;
  void make_execute(const Work& w, Plain& p) const;
  void make_store(const Work& w, Plain& p) const;
  void advance(Maker maker, bool skipped);
  void advance_bias(Work& w) const;
  void advance_input(Work& w) const;
  void advance_weights(Work& w) const;
  void advance_execute(Work& w, bool skipped) const;
  void advance_store(Work& w) const;
  int input_columns(const Work& w) const;
  int input_chunk(const Loop& of) const;
  int weight_chunk(const Loop& of) const;
  int bias_chunk(const Loop& of) const;

  const Geometry geometry_;
  Loop loops_[2];
  Work work_[5];
  int head_ = 0;
  uint32_t bias_half_ = 0, ex_half_ = 0, st_half_ = 0;
  Plain plain_;
  Maker offered_ = kBias;
};

}  // namespace strop::gemmini
