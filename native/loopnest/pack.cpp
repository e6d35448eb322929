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
  emit_pack_loops(tensor, copy_order(tensor, axes, packed));
  code_.mov(pointer(tensor), ptr[rsp + frame::kScratchSlot]);
  if (scratch_at_[tensor]) code_.add(pointer(tensor), static_cast<uint32_t>(scratch_at_[tensor]));
  offset_[tensor] = 0;
  for (size_t i = 0; i < axes.size(); ++i) stride_[tensor][axes[i]] = extent_[axes[i]] == 1 ? 0 : packed[i];
  packed_[tensor] = 1;
  mask_lanes_ = 0;
}

// The packed axes innermost first as the copy walks them: next to the innermost, the one that is contiguous in memory.
std::vector<NestEmitter::PackedAxis> NestEmitter::copy_order(int tensor, const std::vector<int>& axes,
                                                             const std::vector<int64_t>& packed) const {
  std::vector<PackedAxis> order;
  for (size_t i = 0; i < axes.size(); ++i) order.push_back({axes[i], packed[i]});
  if (stride_[tensor][axes[0]] == unit_.scalar()) return order;
  for (size_t i = 1; i < order.size(); ++i)
    if (stride_[tensor][order[i].axis] == unit_.scalar()) std::swap(order[1], order[i]);
  return order;
}

// Loops over the block's outer axes; the source pointer and r11 walk along and come back.
void NestEmitter::emit_pack_loops(int tensor, std::vector<PackedAxis> order) {
  if (order.size() == 1) return emit_pack_row(tensor, order[0].axis);
  if (order.size() == 2 && transposes(tensor, order)) return emit_pack_transposed(tensor, order[0].axis, order[1]);
  const PackedAxis outer = order.back();
  order.pop_back();
  const int64_t count = extent_[outer.axis];
  repeated(count, [&] {
    emit_pack_loops(tensor, order);
    if (count > 1) move_both(tensor, stride_[tensor][outer.axis], outer.stride);
  });
  if (count > 1) move_both(tensor, -stride_[tensor][outer.axis] * count, -outer.stride * count);
}

void NestEmitter::repeated(int64_t count, const std::function<void()>& body) {
  if (count < 1) return;
  if (count == 1) return body();
  const int counter = take_counter();
  counter_set(counter, count);
  Xbyak::Label top;
  code_.L(top);
  body();
  counter_decrement(counter);
  code_.jnz(top);
  give_counter();
}

// Moves the source pointer and r11, the target.
void NestEmitter::move_both(int tensor, int64_t source, int64_t target) {
  const auto move = [&](const Xbyak::Reg64& reg, int64_t bytes) {
    if (bytes == 0) return;
    if (bytes == static_cast<int32_t>(bytes)) {
      code_.add(reg, static_cast<int32_t>(bytes));
    } else {
      code_.mov(rax, bytes);
      code_.add(reg, rax);
    }
  };
  move(pointer(tensor), source);
  move(r11, target);
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
      repeated(vectors, [&] {
        copy(0);
        move_both(tensor, unit_.bytes(), unit_.bytes());
      });
    } else {
      for (int64_t v = 0; v < vectors; ++v) copy(v * unit_.bytes());
    }
    const int64_t at = vectors > 8 ? 0 : vectors * unit_.bytes();
    if (rest) {
      unit_.set_mask(rest, mask);
      unit_.load(temp, ptr[from + at], rest, mask);
      unit_.store(ptr[r11 + at], temp, lanes, -1);
    }
    if (vectors > 8) move_both(tensor, -vectors * unit_.bytes(), -vectors * unit_.bytes());
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
  repeated(rounds, [&] {
    for (int64_t i = 0; i < group; ++i) element(i * stride, i * unit_.scalar());
    move_both(tensor, group * stride, group * unit_.scalar());
  });
  for (int64_t i = 0; i < rest; ++i) element(i * stride, i * unit_.scalar());
  if (rounds) move_both(tensor, -rounds * group * stride, -rounds * group * unit_.scalar());
}

// Whether a block that lies the other way round in memory can be turned in registers: 8x8 floats or 4x4 doubles at a
// time, which takes all of the first 16 registers, so not amid a register tile.
bool NestEmitter::transposes(int tensor, const std::vector<PackedAxis>& order) const {
  const int64_t side = 32 / unit_.scalar();
  const int64_t reach = (side - 1) * stride_[tensor][order[0].axis];
  // In a window both axes may be contiguous: then the rows are copied as they are, whole vectors at a time.
  return tile_.entries.empty() && stride_[tensor][order[0].axis] != unit_.scalar() &&
         stride_[tensor][order[1].axis] == unit_.scalar() &&
         extent_[order[0].axis] >= side && extent_[order[1].axis] >= side &&
         reach == static_cast<int32_t>(reach) && (side - 1) * order[1].stride < INT32_MAX;
}

// Rows of the source run along `column`, rows of the target along `row`.
void NestEmitter::emit_pack_transposed(int tensor, int row, const PackedAxis& column) {
  const int64_t side = 32 / unit_.scalar(), item = unit_.scalar(), stride = stride_[tensor][row];
  const int64_t rows = extent_[row], columns = extent_[column.axis];
  const int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  const auto narrowed = [&](int64_t extent, const std::function<void()>& body) {
    extent_[row] = extent;
    body();
    extent_[row] = rows;
  };
  repeated(whole_columns / side, [&] {
    repeated(whole_rows / side, [&] {
      emit_turn(pointer(tensor), stride, column.stride);
      move_both(tensor, side * stride, side * item);
    });
    const auto line = [&](int64_t extent) {
      repeated(side, [&] {
        narrowed(extent, [&] { emit_pack_row(tensor, row); });
        move_both(tensor, item, column.stride);
      });
      move_both(tensor, -side * item, -side * column.stride);
    };
    if (rows > whole_rows) line(rows - whole_rows);
    move_both(tensor, side * item - whole_rows * stride, side * column.stride - whole_rows * item);
  });
  repeated(columns - whole_columns, [&] {
    emit_pack_row(tensor, row);
    move_both(tensor, item, column.stride);
  });
  move_both(tensor, -columns * item, -columns * column.stride);
}

// Turns one square: loads rows `stride` apart, stores them as columns, rows `target` apart from r11.
void NestEmitter::emit_turn(const Xbyak::Reg64& from, int64_t stride, int64_t target) {
  using Xbyak::Ymm;
  if (spec_.type == Scalar::f64) {
    for (int i = 0; i < 4; ++i) code_.vmovupd(Ymm(i), ptr[from + i * stride]);
    for (int i = 0; i < 4; i += 2) {
      code_.vunpcklpd(Ymm(4 + i), Ymm(i), Ymm(i + 1));
      code_.vunpckhpd(Ymm(5 + i), Ymm(i), Ymm(i + 1));
    }
    for (int i = 0; i < 2; ++i) {
      code_.vperm2f128(Ymm(i), Ymm(4 + i), Ymm(6 + i), 0x20);
      code_.vperm2f128(Ymm(2 + i), Ymm(4 + i), Ymm(6 + i), 0x31);
    }
    for (int i = 0; i < 4; ++i) code_.vmovupd(ptr[r11 + i * target], Ymm(i));
    return;
  }
  for (int i = 0; i < 8; ++i) code_.vmovups(Ymm(i), ptr[from + i * stride]);
  for (int i = 0; i < 8; i += 2) {
    code_.vunpcklps(Ymm(8 + i), Ymm(i), Ymm(i + 1));
    code_.vunpckhps(Ymm(9 + i), Ymm(i), Ymm(i + 1));
  }
  for (int half = 0; half < 2; ++half) {
    const int i = 8 + 4 * half, to = 4 * half;
    code_.vshufps(Ymm(to), Ymm(i), Ymm(i + 2), 0x44);
    code_.vshufps(Ymm(to + 1), Ymm(i), Ymm(i + 2), 0xee);
    code_.vshufps(Ymm(to + 2), Ymm(i + 1), Ymm(i + 3), 0x44);
    code_.vshufps(Ymm(to + 3), Ymm(i + 1), Ymm(i + 3), 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    code_.vperm2f128(Ymm(8 + i), Ymm(i), Ymm(4 + i), 0x20);
    code_.vperm2f128(Ymm(12 + i), Ymm(i), Ymm(4 + i), 0x31);
  }
  for (int i = 0; i < 8; ++i) code_.vmovups(ptr[r11 + i * target], Ymm(8 + i));
}

}  // namespace strop
