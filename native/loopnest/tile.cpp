// The register tile: which output elements live in registers, and the reduction loops that they live across.
#include <algorithm>
#include <cmath>

#include "epilogue.hpp"
#include "frame.hpp"
#include "nest_emitter.hpp"

namespace strop {

using namespace Xbyak::util;

// Registers that can't hold output elements: operands, masks, gather indices, the semiring's temporaries.
int NestEmitter::reserved_registers(bool partial) const {
  const bool narrow = spec_.isa == Isa::avx2;
  int count = 2;
  for (size_t tensor = 0; tensor < spec_.inputs.size(); ++tensor) {
    const int64_t stride = vector_stride(static_cast<int>(tensor));
    if (stride != 0 && stride != unit_.scalar()) {
      count += narrow ? 2 : 1;
      break;
    }
  }
  if (narrow && partial) ++count;
  if (spec_.reduce != Reduce::add) count += narrow ? 2 : 1;
  if (spec_.reduce == Reduce::add && narrow && partial && vector_is_reduction()) ++count;
  return count;
}

// Calls `visit` for each vector of the output that the loops from `position` on touch; stops when it says false.
bool NestEmitter::visit_tile(int position, const std::function<bool(int lanes)>& visit) {
  const Loop& loop = spec_.loops[position];
  const bool output = spec_.is_output(loop.axis);
  if (position == last_) {
    if (!output) return visit(1);
    const int lanes = unit_.lanes();
    const int64_t extent = extent_[loop.axis];
    bool go = true;
    for (int64_t at = 0; go && at < extent; at += lanes) {
      for (size_t t = 0; t < stride_.size(); ++t) offset_[t] += stride_[t][loop.axis] * at;
      go = visit(static_cast<int>(std::min<int64_t>(lanes, extent - at)));
      for (size_t t = 0; t < stride_.size(); ++t) offset_[t] -= stride_[t][loop.axis] * at;
    }
    return go;
  }
  if (!output) return visit_tile(position + 1, visit);
  int64_t moved = 0;
  bool go = true;
  for (const Segment& run : segments(position, extent_[loop.axis])) {
    for (int64_t i = 0; go && i < run.count; ++i) {
      with_segment(position, run, [&] { go = visit_tile(position + 1, visit); });
      for (size_t t = 0; t < stride_.size(); ++t) offset_[t] += stride_[t][loop.axis] * run.extent;
      moved += run.extent;
    }
    if (!go) break;
  }
  for (size_t t = 0; t < stride_.size(); ++t) offset_[t] -= stride_[t][loop.axis] * moved;
  return go;
}

// Loops that a tile can't live across: output loops that pack, and reductions whose pieces tile the output differently.
bool NestEmitter::breaks_tile(int position) const {
  for (int i = position; i <= last_; ++i) {
    const Loop& loop = spec_.loops[i];
    if (spec_.is_output(loop.axis) ? !loop.pack.empty() : loop.partner >= 0 && spec_.is_output(loop.partner))
      return true;
  }
  return false;
}

// How many widths of short vectors a reduced vector axis meets: its rest, or several where it is split in the tile.
int NestEmitter::reduced_widths(int position) const {
  if (!vector_is_reduction()) return 0;
  for (int i = position; i < last_; ++i)
    if (spec_.loops[i].axis == vector_axis_) return 2;
  return extent_[vector_axis_] % unit_.lanes() != 0 ? 1 : 0;
}

bool NestEmitter::tile_fits(int position) {
  if (breaks_tile(position)) return false;
  int count = 0;
  bool partial = reduced_widths(position) > 0;
  return visit_tile(position, [&](int lanes) {
    ++count;
    if (!vector_is_reduction()) partial = partial || (lanes != unit_.lanes() && lanes != 1);
    return count <= unit_.registers() - reserved_registers(partial);
  });
}

int NestEmitter::accumulator_of(int64_t output_offset) const {
  for (size_t i = 0; i < tile_.entries.size(); ++i)
    if (tile_.entries[i].output_offset == output_offset) return static_cast<int>(i);
  throw SpecError("a register tile meets an output element that it doesn't hold");
}

void NestEmitter::emit_tile(int position) {
  tile_ = Tile{};
  int widths = 0;
  const auto width_seen = [&](int lanes) {
    if (lanes == unit_.lanes() || (lanes == 1 && !vector_is_reduction()) || lanes == tile_.partial_lanes) return;
    tile_.partial_lanes = lanes;
    ++widths;
  };
  visit_tile(position, [&](int lanes) {
    TileEntry entry{offset_[kOutput], lanes, {}};
    entry.extra_offsets.assign(offset_.begin() + kExtra, offset_.end());
    tile_.entries.push_back(std::move(entry));
    if (!vector_is_reduction()) width_seen(lanes);
    return true;
  });
  if (vector_is_reduction()) {
    widths = reduced_widths(position);
    tile_.partial_lanes = static_cast<int>(extent_[vector_axis_] % unit_.lanes());
  }
  const bool partial = widths > 0;
  if (widths > 1) tile_.partial_lanes = -1;

  int top = unit_.registers();
  mask_register_ = gather_index_ = gather_mask_ = term_register_ = nan_register_ = -1;
  const bool narrow = spec_.isa == Isa::avx2;
  if (narrow && partial) mask_register_ = --top;
  for (size_t tensor = 0; tensor < spec_.inputs.size() && gather_index_ < 0; ++tensor) {
    const int64_t stride = vector_stride(static_cast<int>(tensor));
    if (stride != 0 && stride != unit_.scalar()) {
      gather_index_ = --top;
      if (narrow) gather_mask_ = --top;
    }
  }
  if (spec_.reduce != Reduce::add || (narrow && partial && vector_is_reduction())) term_register_ = --top;
  if (spec_.reduce != Reduce::add && narrow) nan_register_ = --top;

  const int size = static_cast<int>(tile_.entries.size());
  tile_.limit = top;
  if (size + 2 > top) throw SpecError("a register tile needs more registers than there are");
  const bool reduces = !spec_.is_output(spec_.loops[position].axis);
  tile_.sets = reduces ? std::clamp((top - 2) / size, 1, spec_.accumulators) : 1;
  tile_.first_free = size * tile_.sets;

  mask_lanes_ = 0;
  if (tile_.partial_lanes > 0) ensure_mask(tile_.partial_lanes);
  const bool assigns = !spec_.has_reduction() && !spec_.accumulate;
  if (!assigns) emit_initial();
  terms_of_entry_.assign(size, 0);
  if (reduces)
    emit_reduction(position);
  else
    emit_terms(position);
  reduce_sets();
  if (vector_is_reduction()) reduce_lanes();
  emit_results();
  mask_lanes_ = 0;
  tile_ = Tile{};
}

NestEmitter::When::Kind NestEmitter::combined(const std::vector<When>& conditions) {
  When::Kind kind = When::always;
  for (const When& when : conditions) {
    if (when.kind == When::never) return When::never;
    if (when.kind == When::dynamic) kind = When::dynamic;
  }
  return kind;
}

void NestEmitter::branch_unless(const std::vector<When>& conditions, Xbyak::Label& otherwise) {
  for (const When& when : conditions) {
    if (when.kind != When::dynamic) continue;
    counter_compare(when.counter, when.value);
    code_.jne(otherwise, Xbyak::CodeGenerator::T_NEAR);
  }
}

void NestEmitter::identity(int reg) {
  if (spec_.reduce == Reduce::add) {
    unit_.zero(reg);
    return;
  }
  const double value = spec_.reduce == Reduce::max ? -INFINITY : INFINITY;
  unit_.load(reg, unit_.constant(value), unit_.lanes(), -1);
}

// Output elements start from the identity at the first pass of the reductions around the tile, else from memory.
// A vectorised reduction always starts from the identity: what memory holds is added to the sum of the lanes.
void NestEmitter::emit_initial() {
  const int size = static_cast<int>(tile_.entries.size());
  for (int reg = size; reg < tile_.first_free; ++reg) identity(reg);
  const auto start = [&] {
    for (int i = 0; i < size; ++i) identity(i);
  };
  const auto load = [&] {
    for (int i = 0; i < size; ++i) load_output(i, tile_.entries[i]);
  };
  if (vector_is_reduction()) return start();
  const When::Kind first = spec_.accumulate ? When::never : combined(first_);
  if (first == When::always) return start();
  if (first == When::never) return load();
  Xbyak::Label load_label, done;
  branch_unless(first_, load_label);
  start();
  code_.jmp(done, Xbyak::CodeGenerator::T_NEAR);
  code_.L(load_label);
  load();
  code_.L(done);
  if (tile_.partial_lanes < 0) mask_lanes_ = 0;
}

int64_t NestEmitter::trips(int position) const {
  const int64_t extent = extent_[spec_.loops[position].axis];
  if (position == last_) return (extent + unit_.lanes() - 1) / unit_.lanes();
  int64_t count = 0;
  for (const Segment& run : segments(position, extent)) count += run.count;
  return count;
}

// A reduction loop that becomes straight code.
bool NestEmitter::flat(int position) const {
  const Loop& loop = spec_.loops[position];
  return loop.pack.empty() && trips(position) <= std::max(loop.unroll, 1);
}

// Whether everything from `position` on is straight code, whose terms can share operand registers.
bool NestEmitter::collectable(int position) const {
  for (int i = position; i <= last_; ++i)
    if (!spec_.is_output(spec_.loops[i].axis) && !flat(i)) return false;
  return true;
}

void NestEmitter::emit_terms(int position) {
  collect_terms(position);
  flush_terms();
}

// Emits the loops of the tile from `position` on: output loops are unrolled, reduction loops stay loops.
void NestEmitter::emit_reduction(int position) {
  const Loop& loop = spec_.loops[position];
  if (collectable(position)) return emit_terms(position);
  if (spec_.is_output(loop.axis)) {
    int64_t moved = 0;
    for (const Segment& run : segments(position, extent_[loop.axis])) {
      for (int64_t i = 0; i < run.count; ++i) {
        with_segment(position, run, [&] { emit_reduction(position + 1); });
        for (size_t t = 0; t < stride_.size(); ++t) offset_[t] += stride_[t][loop.axis] * run.extent;
        moved += run.extent;
      }
    }
    for (size_t t = 0; t < stride_.size(); ++t) offset_[t] -= stride_[t][loop.axis] * moved;
    return;
  }
  const bool vectors = position == last_;
  std::vector<Segment> runs;
  if (vectors) {
    const int lanes = unit_.lanes();
    const int64_t extent = extent_[loop.axis];
    if (extent >= lanes) runs.push_back({extent / lanes, lanes, 0});
    if (extent % lanes) runs.push_back({1, extent % lanes, 0});
  } else {
    runs = segments(position, extent_[loop.axis]);
  }
  const bool together = !vectors && collectable(position + 1) && loop.pack.empty();
  int64_t moved = 0;
  for (const Segment& run : runs) {
    const int unroll = static_cast<int>(std::min<int64_t>(std::max(loop.unroll, together || vectors ? tile_.sets : 1),
                                                          run.count));
    const int64_t rounds = run.count / unroll > 1 ? run.count / unroll : 0;
    int64_t ahead = 0;  // elements that static offsets already cover
    const auto settle = [&](int64_t times) {
      flush_terms();
      for (int t = 0; t < kOutput; ++t) offset_[t] -= stride_[t][loop.axis] * ahead;
      if (ahead) advance(loop.axis, ahead, true);
      moved += ahead * times;
      ahead = 0;
    };
    counted(run.count, unroll, [&](int copy, bool looped, int) {
      with_segment(position, run, [&] {
        if (vectors) {
          collect_terms(position);
        } else if (together) {
          emit_prefetch(position);
          collect_terms(position + 1);
        } else if (loop.pack.empty()) {
          emit_prefetch(position);
          emit_reduction(position + 1);
        } else {
          const auto strides = stride_;
          const auto offsets = offset_;
          for (int tensor : loop.pack) emit_pack(position, tensor);
          if (tile_.partial_lanes > 0) ensure_mask(tile_.partial_lanes);
          emit_reduction(position + 1);
          for (int tensor : loop.pack) {
            code_.mov(pointer(tensor), ptr[rsp + frame::kPointerSlots + 8 * tensor]);
            packed_[tensor] = 0;
          }
          stride_ = strides;
          offset_ = offsets;
        }
      });
      for (int t = 0; t < kOutput; ++t) offset_[t] += stride_[t][loop.axis] * run.extent;
      ahead += run.extent;
      const bool ends = looped ? copy == unroll - 1 : copy == run.count - rounds * unroll - 1;
      if (ends) settle(looped ? rounds : 1);
    });
  }
  if (moved) advance(loop.axis, -moved, true);
}

// Stores the tile; at the last pass of the reductions around it, through the epilogue.
void NestEmitter::emit_results() {
  const When::Kind last = spec_.epilogue.empty() ? When::never : combined(last_iteration_);
  if (last == When::never) return emit_stores();
  if (last == When::always) return emit_epilogue_and_stores();
  Xbyak::Label plain, done;
  branch_unless(last_iteration_, plain);
  const int mask = mask_lanes_;
  emit_epilogue_and_stores();
  code_.jmp(done, Xbyak::CodeGenerator::T_NEAR);
  code_.L(plain);
  mask_lanes_ = mask;
  emit_stores();
  code_.L(done);
}

void NestEmitter::emit_stores() {
  for (size_t i = 0; i < tile_.entries.size(); ++i) store_output(static_cast<int>(i), tile_.entries[i]);
}

// Where too few registers are free, the last output vectors wait on the stack till the first are stored.
void NestEmitter::emit_epilogue_and_stores() {
  const int size = static_cast<int>(tile_.entries.size());
  const int needed = epilogue_registers(spec_.epilogue, spec_.isa);
  int kept = std::min(size, tile_.limit - needed);
  if (kept < 1) throw SpecError("the epilogue needs more registers than there are");
  const auto spill = [&](int i) { return code_.ptr[rsp + frame::kSpills + 64 * i]; };
  for (int i = kept; i < size; ++i) unit_.store(spill(i), i, unit_.lanes(), -1);
  std::vector<int> free;
  for (int reg = kept; reg < tile_.limit; ++reg) free.push_back(reg);
  for (int i = 0; i < size; ++i) {
    const int x = i < kept ? i : 0;
    if (i >= kept) unit_.load(x, spill(i), unit_.lanes(), -1);
    const TileEntry& entry = tile_.entries[i];
    emit_epilogue(unit_, spec_.epilogue, x, free, [&](int dst, int operand) { load_extra(dst, operand, entry); });
    store_output(x, entry);
  }
}

}  // namespace strop
