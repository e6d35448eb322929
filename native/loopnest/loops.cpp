// The loops around the register tile: counters, pointers, tails, the parallel range.
#include <algorithm>
#include <cstddef>

#include "frame.hpp"
#include "kernel.hpp"
#include "nest_emitter.hpp"

namespace strop {

using namespace Xbyak::util;

namespace {

constexpr int kLoopAlignment = 32;  // what the front end fetches at once

Xbyak::Reg64 counter_register(int counter) { return Xbyak::Reg64(frame::kCounters[counter]); }
bool in_register(int counter) { return counter < frame::kCounterRegisters; }
Xbyak::Address counter_slot(int counter) {
  return qword[rsp + frame::kCounterSlots + 8 * (counter - frame::kCounterRegisters)];
}

}  // namespace

NestEmitter::NestEmitter(const Spec& spec, Xbyak::CodeGenerator& code)
    : spec_(spec), code_(code), unit_(code, spec.isa, spec.type), last_(static_cast<int>(spec.loops.size()) - 1) {
  vector_axis_ = spec.loops[last_].axis;
  const std::vector<int64_t> nothing(spec.sizes.size(), 0);
  stride_.push_back(spec.inputs[0].stride);
  stride_.push_back(spec.inputs.size() > 1 ? spec.inputs[1].stride : nothing);
  stride_.push_back(spec.output.stride);
  for (const Tensor& extra : spec.extras) stride_.push_back(extra.stride);
  for (size_t tensor = 0; tensor < stride_.size(); ++tensor) {
    for (size_t axis = 0; axis < spec.sizes.size(); ++axis) {
      // Axes of extent 1 may carry any stride; the output is never indexed by a reduction.
      if (spec.sizes[axis] == 1 || (tensor >= kOutput && !spec.is_output(static_cast<int>(axis))))
        stride_[tensor][axis] = 0;
    }
  }
  offset_.assign(stride_.size(), 0);
  extent_ = spec.sizes;
  for (const Loop& loop : spec.loops) step_.push_back(loop.step);
  packed_.assign(2, 0);
  if (spec.extras.size() > frame::kMaxExtras) throw SpecError("an epilogue has at most 16 operands");
  if (spec.loops.size() > frame::kMaxLoops) throw SpecError("a nest has at most 32 loops");
}

void NestEmitter::emit() {
  plan_packs();
  int pushed = 0;
  const int wanted = static_cast<int>(spec_.loops.size()) + (scratch_bytes_ ? 8 : 0);
  for (int i = frame::kVolatileCounters; i < std::min(wanted, frame::kCounterRegisters); ++i, ++pushed)
    code_.push(counter_register(i));
  code_.sub(rsp, frame::kBytes);
  for (size_t i = 0; i < spec_.extras.size(); ++i) {
    if (i == 0) code_.mov(rax, ptr[rdi + offsetof(Arguments, extras)]);
    code_.mov(rcx, ptr[rax + 8 * i]);
    code_.mov(ptr[rsp + frame::kExtraSlots + 8 * i], rcx);
  }
  if (scratch_bytes_) {
    code_.mov(rax, ptr[rdi + offsetof(Arguments, scratch)]);
    code_.mov(ptr[rsp + frame::kScratchSlot], rax);
  }
  if (spec_.loops[0].parallel) {
    code_.mov(rax, ptr[rdi + offsetof(Arguments, begin)]);
    code_.mov(ptr[rsp + frame::kBeginSlot], rax);
    code_.mov(rax, ptr[rdi + offsetof(Arguments, end)]);
    code_.mov(ptr[rsp + frame::kEndSlot], rax);
  }
  code_.mov(pointer(0), ptr[rdi + offsetof(Arguments, inputs)]);
  if (spec_.inputs.size() > 1) code_.mov(pointer(1), ptr[rdi + offsetof(Arguments, inputs) + 8]);
  code_.mov(pointer(kOutput), ptr[rdi + offsetof(Arguments, output)]);  // rdi itself: last

  if (spec_.loops[0].parallel)
    emit_parallel_loop(0);
  else
    emit_from(0);

  code_.vzeroupper();
  code_.add(rsp, frame::kBytes);
  for (int i = frame::kVolatileCounters + pushed - 1; i >= frame::kVolatileCounters; --i)
    code_.pop(counter_register(i));
  code_.ret();
  unit_.emit_pool();
}

std::vector<NestEmitter::Segment> NestEmitter::segments(int position, int64_t extent) const {
  const Loop& loop = spec_.loops[position];
  std::vector<Segment> result;
  if (!loop.pieces.empty()) {
    for (size_t i = 0; i < loop.pieces.size(); ++i) {
      const int64_t partner = loop.partner >= 0 ? loop.partner_steps[i] : 0;
      if (!result.empty() && result.back().extent == loop.pieces[i] && result.back().partner_step == partner)
        ++result.back().count;
      else
        result.push_back({1, loop.pieces[i], partner});
    }
    return result;
  }
  const int64_t step = step_[position];
  if (loop.balanced) {
    const int64_t count = (extent + step - 1) / step;
    const int64_t big = (extent + count - 1) / count;
    const int64_t wide = extent - count * (big - 1);
    result.push_back({wide, big, 0});
    if (count > wide) result.push_back({count - wide, big - 1, 0});
    return result;
  }
  if (extent >= step) result.push_back({extent / step, step, 0});
  if (extent % step) result.push_back({1, extent % step, 0});
  return result;
}

// Runs `body` with the extents and steps that hold inside one iteration of the segment.
void NestEmitter::with_segment(int position, const Segment& segment, const std::function<void()>& body) {
  const Loop& loop = spec_.loops[position];
  const int64_t extent = extent_[loop.axis];
  extent_[loop.axis] = segment.extent;
  int partner = -1;
  int64_t partner_step = 0;
  if (segment.partner_step && loop.partner >= 0) {
    for (int inner = position + 1; inner <= last_ && partner < 0; ++inner)
      if (spec_.loops[inner].axis == loop.partner) partner = inner;
    partner_step = step_[partner];
    step_[partner] = segment.partner_step;
  }
  body();
  if (partner >= 0) step_[partner] = partner_step;
  extent_[loop.axis] = extent;
}

void NestEmitter::emit_from(int position) {
  const bool reduction = !spec_.is_output(spec_.loops[position].axis);
  if (reduction && tile_fits(position)) {
    emit_tile(position);
  } else if (position == last_) {
    emit_chunks(position);
  } else {
    emit_loop(position);
  }
}

void NestEmitter::emit_body(int position) {
  emit_prefetch(position);
  const Loop& loop = spec_.loops[position];
  if (loop.pack.empty()) {
    emit_from(position + 1);
    return;
  }
  const auto strides = stride_;
  for (int tensor : loop.pack) emit_pack(position, tensor);
  emit_from(position + 1);
  for (int tensor : loop.pack) {
    code_.mov(pointer(tensor), ptr[rsp + frame::kPointerSlots + 8 * tensor]);
    packed_[tensor] = 0;
  }
  stride_ = strides;
}

// Emits `count` iterations, `unroll` copies of the body between jumps. The body moves the pointers itself.
void NestEmitter::counted(int64_t count, int unroll,
                          const std::function<void(int copy, bool looped, int counter)>& body) {
  const int64_t rounds = count / unroll;
  int64_t rest = count % unroll;
  if (rounds == 1) {
    rest = count;
  } else if (rounds > 1) {
    const int counter = take_counter();
    counter_set(counter, rounds);
    Xbyak::Label top;
    code_.align(kLoopAlignment);
    code_.L(top);
    if (tile_.partial_lanes < 0) mask_lanes_ = 0;  // set where it is used
    for (int copy = 0; copy < unroll; ++copy) body(copy, true, counter);
    counter_decrement(counter);
    code_.jnz(top);
    give_counter();
  }
  for (int64_t copy = 0; copy < rest; ++copy) body(static_cast<int>(copy), false, -1);
}

void NestEmitter::emit_loop(int position) {
  const Loop& loop = spec_.loops[position];
  const bool reduction = !spec_.is_output(loop.axis);
  const auto runs = segments(position, extent_[loop.axis]);
  int64_t moved = 0, done = 0;
  int64_t total = 0;
  for (const Segment& run : runs) total += run.count;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Segment& run = runs[i];
    const int unroll = static_cast<int>(std::min<int64_t>(loop.unroll, run.count));
    const int64_t rounds = run.count / unroll > 1 ? run.count / unroll : 0;
    const bool last_run = i + 1 == runs.size();
    counted(run.count, unroll, [&](int copy, bool looped, int counter) {
      if (reduction) {
        const bool begins = i == 0 && copy == 0 && (looped || rounds == 0);
        const bool ends = last_run && (looped ? run.count % unroll == 0 && copy == unroll - 1
                                              : copy == run.count - rounds * unroll - 1);
        first_.push_back({!begins ? When::never : looped ? When::dynamic : When::always, counter, rounds});
        last_iteration_.push_back({!ends ? When::never : looped ? When::dynamic : When::always, counter, 1});
      }
      with_segment(position, run, [&] { emit_body(position); });
      if (reduction) {
        first_.pop_back();
        last_iteration_.pop_back();
      }
      done += looped ? rounds : 1;
      if (looped || done < total) {
        advance(loop.axis, run.extent);
        moved += looped ? run.extent * rounds : run.extent;
      }
    });
  }
  if (moved) advance(loop.axis, -moved);
}

// The outermost loop, over the iterations [begin, end) of the call.
void NestEmitter::emit_parallel_loop(int position) {
  const Loop& loop = spec_.loops[position];
  int64_t start = 0, at = 0;
  for (const Segment& run : segments(position, extent_[loop.axis])) {
    Xbyak::Label skip, top;
    // rax = max(begin, start); rcx = min(end, start + count) - rax
    code_.mov(rax, ptr[rsp + frame::kBeginSlot]);
    code_.mov(r11, start);
    code_.cmp(rax, r11);
    code_.cmovl(rax, r11);
    code_.mov(rcx, ptr[rsp + frame::kEndSlot]);
    code_.mov(r11, start + run.count);
    code_.cmp(rcx, r11);
    code_.cmovg(rcx, r11);
    code_.sub(rcx, rax);
    code_.jle(skip, Xbyak::CodeGenerator::T_NEAR);
    code_.sub(rax, r11);
    code_.add(rax, static_cast<uint32_t>(run.count));  // iterations of this run before the first
    const auto move_all = [&](bool forward) {
      for (size_t tensor = 0; tensor < stride_.size(); ++tensor) {
        const int64_t stride = stride_[tensor][loop.axis];
        if (stride == 0 || (tensor == 1 && spec_.inputs.size() < 2)) continue;
        code_.mov(r11, run.extent * stride);
        code_.imul(r11, rax);
        if (at) {
          code_.push(rax);
          code_.mov(rax, at * stride);
          code_.add(r11, rax);
          code_.pop(rax);
        }
        if (tensor >= kExtra) {
          const Xbyak::Address slot = qword[rsp + frame::kExtraSlots + 8 * (tensor - kExtra)];
          forward ? code_.add(slot, r11) : code_.sub(slot, r11);
        } else {
          forward ? code_.add(pointer(static_cast<int>(tensor)), r11)
                  : code_.sub(pointer(static_cast<int>(tensor)), r11);
        }
      }
    };
    move_all(true);
    // Where the run's pointers stand at its end depends on the call: remember rax + rcx to come back.
    const int counter = take_counter();
    if (counter != 0) throw SpecError("a parallel loop must be outermost");
    code_.lea(rax, ptr[rax + rcx]);
    code_.mov(ptr[rsp + frame::kResumeSlot], rax);
    code_.align(kLoopAlignment);
    code_.L(top);  // counter 0 is rcx
    with_segment(position, run, [&] { emit_body(position); });
    advance(loop.axis, run.extent);
    counter_decrement(counter);
    code_.jnz(top);
    give_counter();
    code_.mov(rax, ptr[rsp + frame::kResumeSlot]);
    move_all(false);
    code_.L(skip);
    start += run.count;
    at += run.count * run.extent;
  }
  parallel_iterations_ = start;
}

// No reduction loop holds the tile: each pass over the vector loop loads and stores the output, a chunk at a time.
void NestEmitter::emit_chunks(int position) {
  const Loop& loop = spec_.loops[position];
  const int64_t extent = extent_[loop.axis];
  const int vectors = std::min(unit_.registers() - reserved_registers(true), 12);
  const int64_t chunk = static_cast<int64_t>(vectors) * unit_.lanes();
  const int64_t full = extent / chunk, tail = extent % chunk;
  int64_t moved = 0;
  if (full) {
    counted(full, 1, [&](int, bool looped, int) {
      with_segment(position, {1, chunk, 0}, [&] { emit_tile(position); });
      if (looped || tail) {
        advance(loop.axis, chunk);
        moved = chunk * full;
      }
    });
  }
  if (tail) with_segment(position, {1, tail, 0}, [&] { emit_tile(position); });
  if (moved) advance(loop.axis, -moved);
}

void NestEmitter::advance(int axis, int64_t elements, bool inputs_only) {
  for (int tensor = 0; tensor < static_cast<int>(stride_.size()); ++tensor) {
    if (inputs_only && tensor >= kOutput) break;
    const int64_t bytes = stride_[tensor][axis] * elements;
    if (bytes == 0 || (tensor == 1 && spec_.inputs.size() < 2)) continue;
    const bool small = bytes == static_cast<int32_t>(bytes);
    if (!small) code_.mov(rax, bytes);
    if (tensor >= kExtra) {
      const Xbyak::Address slot = qword[rsp + frame::kExtraSlots + 8 * (tensor - kExtra)];
      small ? code_.add(slot, static_cast<int32_t>(bytes)) : code_.add(slot, rax);
    } else {
      small ? code_.add(pointer(tensor), static_cast<int32_t>(bytes)) : code_.add(pointer(tensor), rax);
    }
  }
}

// Asks for the lines that the iteration `distance` ahead begins its rows with, a few at most.
void NestEmitter::emit_prefetch(int position) {
  const Loop& loop = spec_.loops[position];
  for (const Prefetch& wish : loop.prefetch) {
    const int tensor = wish.tensor;
    if (tensor < 2 && packed_[tensor]) continue;
    const int64_t ahead = offset_[tensor] + stride_[tensor][loop.axis] * step_[position] * wish.distance;
    int64_t lines = 1;
    if (vector_axis_ != loop.axis && stride_[tensor][vector_axis_] == unit_.scalar())
      lines = std::min<int64_t>(8, (extent_[vector_axis_] * unit_.scalar() + 63) / 64);
    for (int64_t line = 0; line < lines; ++line) code_.prefetcht0(address(tensor, ahead + 64 * line));
  }
}

int NestEmitter::take_counter() { return live_counters_++; }

void NestEmitter::counter_set(int counter, int64_t value) {
  if (in_register(counter)) {
    code_.mov(counter_register(counter), value);
  } else {
    code_.mov(rax, value);
    code_.mov(counter_slot(counter), rax);
  }
}

void NestEmitter::counter_decrement(int counter) {
  in_register(counter) ? code_.dec(counter_register(counter)) : code_.dec(counter_slot(counter));
}

void NestEmitter::counter_compare(int counter, int64_t value) {
  if (value == static_cast<int32_t>(value)) {
    const auto small = static_cast<uint32_t>(value);
    in_register(counter) ? code_.cmp(counter_register(counter), small) : code_.cmp(counter_slot(counter), small);
  } else {
    code_.mov(rax, value);
    in_register(counter) ? code_.cmp(counter_register(counter), rax) : code_.cmp(counter_slot(counter), rax);
  }
}

}  // namespace strop
