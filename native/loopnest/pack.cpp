// Packing: a loop's iteration first copies the block of an input that it uses to scratch, in the order of its use.
#include <algorithm>

#include "frame.hpp"
#include "nest_emitter.hpp"

namespace strop {

using namespace Xbyak::util;

namespace {

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

// Axes of the block, innermost first: each where its innermost loop stands.
std::vector<int> NestEmitter::packed_axes(int position, int tensor) const {
  std::vector<int> axes;
  for (int i = last_; i > position; --i) {
    const int axis = spec_.loops[i].axis;
    if (stride_[tensor][axis] != 0 && std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  return axes;
}

// Gives each packed input a place in scratch that the largest block of any piece or tail fits.
void NestEmitter::plan_packs() {
  scratch_at_.assign(2, 0);
  for (int position = 0; position <= last_; ++position) {
    for (int tensor : spec_.loops[position].pack) {
      size_t bytes = unit_.scalar();
      bool innermost = true;
      for (int axis : packed_axes(position, tensor)) {
        int64_t extent = spec_.sizes[axis];
        for (int outer = 0; outer <= position; ++outer) {
          const Loop& loop = spec_.loops[outer];
          if (loop.axis == axis)
            extent = loop.pieces.empty() ? std::min(extent, loop.step)
                                         : *std::max_element(loop.pieces.begin(), loop.pieces.end());
          if (loop.partner == axis)  // a piece may give its partner a longer step
            extent = spec_.sizes[axis];
        }
        if (innermost) extent = (extent + unit_.lanes() - 1) / unit_.lanes() * unit_.lanes();
        innermost = false;
        bytes *= static_cast<size_t>(extent);
      }
      scratch_at_[tensor] = scratch_bytes_;
      scratch_bytes_ += rounded(bytes + unit_.bytes());
    }
  }
}

void NestEmitter::emit_pack(int position, int tensor) {
  const std::vector<int> axes = packed_axes(position, tensor);
  if (axes.empty()) {  // one element: nothing to gain, but the pointer is restored after the body
    code_.mov(ptr[rsp + frame::kPointerSlots + 8 * tensor], pointer(tensor));
    return;
  }
  std::vector<int64_t> packed(axes.size());
  int64_t running = unit_.scalar();
  for (size_t i = 0; i < axes.size(); ++i) {
    packed[i] = running;
    const int64_t extent = extent_[axes[i]];
    running *= i == 0 ? (extent + unit_.lanes() - 1) / unit_.lanes() * unit_.lanes() : extent;
  }
  code_.mov(ptr[rsp + frame::kPointerSlots + 8 * tensor], pointer(tensor));
  if (offset_[tensor]) {
    code_.mov(rax, offset_[tensor]);
    code_.add(pointer(tensor), rax);
  }
  code_.mov(r11, ptr[rsp + frame::kScratchSlot]);
  if (scratch_at_[tensor]) code_.add(r11, static_cast<uint32_t>(scratch_at_[tensor]));
  emit_pack_loops(tensor, axes, packed, axes.size());
  code_.mov(pointer(tensor), ptr[rsp + frame::kScratchSlot]);
  if (scratch_at_[tensor]) code_.add(pointer(tensor), static_cast<uint32_t>(scratch_at_[tensor]));
  offset_[tensor] = 0;
  for (size_t i = 0; i < axes.size(); ++i) stride_[tensor][axes[i]] = extent_[axes[i]] == 1 ? 0 : packed[i];
  packed_[tensor] = 1;
  mask_lanes_ = 0;
}

// Loops over the block's outer axes; the source pointer and r11 walk along and come back.
void NestEmitter::emit_pack_loops(int tensor, const std::vector<int>& axes, const std::vector<int64_t>& packed,
                                  size_t depth) {
  if (depth == 1) return emit_pack_row(tensor, axes[0]);
  const int axis = axes[depth - 1];
  const int64_t count = extent_[axis];
  const auto move = [&](const Xbyak::Reg64& reg, int64_t bytes) {
    if (bytes == static_cast<int32_t>(bytes)) {
      code_.add(reg, static_cast<int32_t>(bytes));
    } else {
      code_.mov(rax, bytes);
      code_.add(reg, rax);
    }
  };
  if (count == 1) return emit_pack_loops(tensor, axes, packed, depth - 1);
  const int counter = take_counter();
  counter_set(counter, count);
  Xbyak::Label top;
  code_.L(top);
  emit_pack_loops(tensor, axes, packed, depth - 1);
  move(pointer(tensor), stride_[tensor][axis]);
  move(r11, packed[depth - 1]);
  counter_decrement(counter);
  code_.jnz(top, Xbyak::CodeGenerator::T_NEAR);
  give_counter();
  move(pointer(tensor), -stride_[tensor][axis] * count);
  move(r11, -packed[depth - 1] * count);
}

void NestEmitter::emit_pack_row(int tensor, int axis) {
  const int64_t extent = extent_[axis], stride = stride_[tensor][axis];
  const Xbyak::Reg64 from = pointer(tensor);
  // Inside a register tile only the free registers may be touched; elsewhere all are free.
  const int temp = tile_.entries.empty() ? 0 : tile_.first_free;
  const int mask = tile_.entries.empty() ? 1 : mask_register_ >= 0 ? mask_register_ : tile_.first_free + 1;
  const int lanes = unit_.lanes();
  if (stride == unit_.scalar()) {
    const int64_t vectors = extent / lanes;
    const int rest = static_cast<int>(extent % lanes);
    const auto copy = [&](int64_t at) {
      unit_.load(temp, ptr[from + at], lanes, -1);
      unit_.store(ptr[r11 + at], temp, lanes, -1);
    };
    if (vectors > 8) {
      const int counter = take_counter();
      counter_set(counter, vectors);
      Xbyak::Label top;
      code_.L(top);
      copy(0);
      code_.add(from, unit_.bytes());
      code_.add(r11, unit_.bytes());
      counter_decrement(counter);
      code_.jnz(top, Xbyak::CodeGenerator::T_NEAR);
      give_counter();
    } else {
      for (int64_t v = 0; v < vectors; ++v) copy(v * unit_.bytes());
    }
    const int64_t at = vectors > 8 ? 0 : vectors * unit_.bytes();
    if (rest) {
      unit_.set_mask(rest, mask);
      unit_.load(temp, ptr[from + at], rest, mask);
      unit_.store(ptr[r11 + at], temp, lanes, -1);
    }
    if (vectors > 8) {
      const int64_t back = vectors * unit_.bytes();
      code_.mov(rax, back);
      code_.sub(from, rax);
      code_.sub(r11, rax);
    }
    return;
  }
  // Element by element: a transposed or strided block.
  const bool single = spec_.type == Scalar::f32;
  const auto element = [&](int64_t source, int64_t target) {
    if (single) {
      code_.mov(eax, ptr[from + source]);
      code_.mov(ptr[r11 + target], eax);
    } else {
      code_.mov(rax, ptr[from + source]);
      code_.mov(ptr[r11 + target], rax);
    }
  };
  constexpr int64_t kStraight = 8;
  const bool near = stride * kStraight == static_cast<int32_t>(stride * kStraight);
  const int64_t group = near ? kStraight : 1;
  const int64_t rounds = extent / group, rest = extent % group;
  const auto step = [&](int64_t elements) {
    code_.mov(rax, elements * stride);
    code_.add(from, rax);
    code_.mov(rax, elements * unit_.scalar());
    code_.add(r11, rax);
  };
  if (rounds) {
    const int counter = take_counter();
    counter_set(counter, rounds);
    Xbyak::Label top;
    code_.L(top);
    for (int64_t i = 0; i < group; ++i) element(i * stride, i * unit_.scalar());
    step(group);
    counter_decrement(counter);
    code_.jnz(top, Xbyak::CodeGenerator::T_NEAR);
    give_counter();
  }
  for (int64_t i = 0; i < rest; ++i) element(i * stride, i * unit_.scalar());
  if (rounds) step(-rounds * group);
}

}  // namespace strop
