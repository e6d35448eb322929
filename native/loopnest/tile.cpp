// The register tile: which output elements live in registers, and the reduction loops that they live across.
#include <algorithm>
#include <array>
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

// Gathers the terms of straight code from `position` on.
void NestEmitter::collect_terms(int position) {
  const Loop& loop = spec_.loops[position];
  const bool output = spec_.is_output(loop.axis);
  const int64_t extent = extent_[loop.axis];
  const auto move = [&](int64_t elements) {
    for (size_t t = 0; t < stride_.size(); ++t) offset_[t] += stride_[t][loop.axis] * elements;
  };
  if (position < last_) {
    int64_t moved = 0;
    for (const Segment& run : segments(position, extent)) {
      for (int64_t i = 0; i < run.count; ++i) {
        if (!output) emit_prefetch(position);
        with_segment(position, run, [&] { collect_terms(position + 1); });
        move(run.extent);
        moved += run.extent;
      }
    }
    move(-moved);
    return;
  }
  for (int64_t at = 0; at < extent; at += unit_.lanes()) {
    const int lanes = static_cast<int>(std::min<int64_t>(unit_.lanes(), extent - at));
    const int entry = accumulator_of(offset_[kOutput]);
    const int set = terms_of_entry_[entry]++ % tile_.sets;
    Term term{entry + set * static_cast<int>(tile_.entries.size()), {-1, -1}, lanes};
    for (size_t input = 0; input < spec_.inputs.size(); ++input) {
      const Reference wanted = reference(static_cast<int>(input), lanes);
      // Recent references are the likely equals: a broadcast of the same row, a vector of the same column.
      int found = -1;
      const int oldest = std::max(0, static_cast<int>(references_.size()) - 128);
      for (int r = static_cast<int>(references_.size()) - 1; r >= oldest && found < 0; --r)
        if (references_[r] == wanted) found = r;
      if (found < 0) {
        found = static_cast<int>(references_.size());
        references_.push_back(wanted);
      }
      term.operand[input] = found;
    }
    terms_.push_back(term);
    move(unit_.lanes());
  }
  const int64_t steps = (extent + unit_.lanes() - 1) / unit_.lanes();
  move(-steps * unit_.lanes());
}

// Emits the gathered terms in order. Operands stay in leftover registers; the one needed last again makes room.
void NestEmitter::flush_terms() {
  if (terms_.empty()) return;
  const int count = static_cast<int>(terms_.size());
  constexpr int kNever = 1 << 30;
  std::vector<int> next(references_.size(), kNever);
  std::vector<std::array<int, 2>> later(count);  // the next term that uses each operand again
  for (int i = count - 1; i >= 0; --i) {
    for (int side = 0; side < 2; ++side) {
      const int r = terms_[i].operand[side];
      if (r < 0) continue;
      later[i][side] = next[r];
    }
    for (int r : terms_[i].operand)
      if (r >= 0) next[r] = i;
  }
  std::vector<int> held(unit_.registers(), -1);       // reference in a register
  std::vector<int> where(references_.size(), -1);     // register of a reference
  std::vector<int> due(references_.size(), kNever);   // next use of a reference that is held
  const auto room = [&](int keep) {
    int victim = -1;
    for (int reg = tile_.first_free; reg < tile_.limit; ++reg) {
      if (held[reg] < 0) return reg;
      if (held[reg] == keep) continue;
      if (victim < 0 || due[held[reg]] > due[held[victim]]) victim = reg;
    }
    where[held[victim]] = -1;
    held[victim] = -1;
    return victim;
  };
  const auto fetch = [&](int r, int keep) {
    if (where[r] < 0) {
      const int reg = room(keep);
      load_reference(reg, references_[r]);
      held[reg] = r;
      where[r] = reg;
    }
    return where[r];
  };
  for (int i = 0; i < count; ++i) {
    const Term& term = terms_[i];
    int a = term.operand[0], b = term.operand[1];
    const bool same = a == b;
    const auto foldable = [&](int side) {
      const int r = term.operand[side];
      return r >= 0 && !same && where[r] < 0 && later[i][side] == kNever && references_[r].access == Access::vector &&
             references_[r].lanes == unit_.lanes() && term.lanes == unit_.lanes();
    };
    int folded = -1;
    if (b >= 0 ? foldable(1) : foldable(0)) folded = b >= 0 ? 1 : 0;
    else if (b >= 0 && foldable(0)) folded = 0;
    int registers[2] = {-1, -1};
    for (int side = 0; side < 2; ++side) {
      const int r = term.operand[side];
      if (r < 0 || side == folded) continue;
      registers[side] = fetch(r, side == 1 && registers[0] >= 0 ? a : -1);
      due[r] = later[i][side];
    }
    if (same && b >= 0) registers[1] = registers[0];
    Xbyak::Address memory = ptr[rsp];
    if (folded >= 0) memory = address(references_[term.operand[folded]].tensor, references_[term.operand[folded]].offset);
    int first = registers[0], second = registers[1];
    if (folded == 0) {
      first = second;
      second = -1;
    }
    emit_term(term, first, folded >= 0 ? &memory : nullptr, second);
    ++arithmetic_;
    for (int side = 0; side < 2; ++side) {
      const int r = term.operand[side];
      if (r < 0 || side == folded || later[i][side] != kNever || where[r] < 0) continue;
      held[where[r]] = -1;
      where[r] = -1;
    }
  }
  terms_.clear();
  references_.clear();
}

// One term into one register. `a` is -1 and `memory` given where the only input is folded.
void NestEmitter::emit_term(const Term& term, int a, const Xbyak::Operand* memory, int b_register) {
  const int acc = term.accumulator;
  const bool two = spec_.inputs.size() > 1;
  const Xbyak::Xmm b_reg = unit_.reg(b_register < 0 ? 0 : b_register);
  const Xbyak::Xmm a_reg = unit_.reg(a < 0 ? 0 : a);
  const Xbyak::Operand& b = memory ? *memory : static_cast<const Xbyak::Operand&>(b_reg);
  const Xbyak::Operand& only = memory ? *memory : static_cast<const Xbyak::Operand&>(a_reg);
  const auto combine = [&](int dst) {
    if (!two)
      memory ? unit_.load(dst, static_cast<const Xbyak::Address&>(*memory), unit_.lanes(), -1) : unit_.move(dst, a);
    else if (spec_.combine == Combine::mul)
      unit_.mul(dst, a, b);
    else
      unit_.add(dst, a, b);
  };
  if (!spec_.has_reduction() && !spec_.accumulate) return combine(acc);
  // Lanes beyond a short vector of a reduced axis must not reach the sum.
  const bool masked = vector_is_reduction() && term.lanes != unit_.lanes();
  if (spec_.reduce == Reduce::add && !masked) {
    two ? unit_.fma231(acc, a, b) : unit_.add(acc, acc, only);
    return;
  }
  if (masked) ensure_mask(term.lanes);
  if (spec_.reduce == Reduce::add) {
    if (spec_.isa == Isa::avx512) {
      const Xbyak::Xmm dst = unit_.reg(acc) | code_.k1;
      const bool single = spec_.type == Scalar::f32;
      if (two)
        single ? code_.vfmadd231ps(dst, a_reg, b) : code_.vfmadd231pd(dst, a_reg, b);
      else
        single ? code_.vaddps(dst, unit_.reg(acc), only) : code_.vaddpd(dst, unit_.reg(acc), only);
      return;
    }
    combine(term_register_);
    code_.vandps(unit_.reg(term_register_), unit_.reg(term_register_), unit_.reg(mask_register_));
    unit_.add(acc, acc, unit_.reg(term_register_));
    return;
  }
  combine(term_register_);
  if (masked) {
    const Xbyak::Address neutral = unit_.constant(spec_.reduce == Reduce::max ? -INFINITY : INFINITY);
    const Xbyak::Xmm value = unit_.reg(term_register_);
    if (spec_.isa == Isa::avx512) {
      code_.knotw(code_.k2, code_.k1);
      const Xbyak::Xmm dst = value | code_.k2;
      spec_.type == Scalar::f32 ? code_.vmovups(dst, neutral) : code_.vmovupd(dst, neutral);
    } else {
      unit_.load(nan_register_, neutral, unit_.lanes(), -1);
      code_.vblendvps(value, unit_.reg(nan_register_), value, unit_.reg(mask_register_));
    }
  }
  reduce_into(acc, term_register_);
}

// acc = acc (+) value, where a not-a-number in either stays: the instruction alone drops one in its first source.
void NestEmitter::reduce_into(int accumulator, int value) {
  if (spec_.reduce == Reduce::add) return unit_.add(accumulator, accumulator, unit_.reg(value));
  const bool single = spec_.type == Scalar::f32;
  const Xbyak::Xmm v = unit_.reg(value);
  constexpr int kUnordered = 3;
  spec_.reduce == Reduce::max ? unit_.max(accumulator, value, unit_.reg(accumulator))
                              : unit_.min(accumulator, value, unit_.reg(accumulator));
  if (spec_.isa == Isa::avx512) {
    single ? code_.vcmpps(code_.k2, v, v, kUnordered) : code_.vcmppd(code_.k2, v, v, kUnordered);
    const Xbyak::Xmm dst = unit_.reg(accumulator) | code_.k2;
    single ? code_.vmovaps(dst, v) : code_.vmovapd(dst, v);
    return;
  }
  const Xbyak::Xmm nan = unit_.reg(nan_register_);
  single ? code_.vcmpps(nan, v, v, kUnordered) : code_.vcmppd(nan, v, v, kUnordered);
  code_.vorps(unit_.reg(accumulator), unit_.reg(accumulator), nan);
}

void NestEmitter::reduce_sets() {
  const int size = static_cast<int>(tile_.entries.size());
  // Pairs first: the chains stay short.
  for (int width = tile_.sets; width > 1; width = (width + 1) / 2) {
    const int half = (width + 1) / 2;
    for (int set = 0; set + half < width; ++set)
      for (int i = 0; i < size; ++i) reduce_into(set * size + i, (set + half) * size + i);
  }
}

// Adds the lanes of each partial sum; the result is in lane 0. Then what memory held, where the sum goes on.
void NestEmitter::reduce_lanes() {
  const int size = static_cast<int>(tile_.entries.size());
  const int temp = tile_.limit - 1 >= size ? tile_.limit - 1 : -1;
  if (temp < 0) throw SpecError("a register tile leaves no register to add lanes");
  const bool single = spec_.type == Scalar::f32;
  const Xbyak::Xmm low(temp);
  for (int i = 0; i < size; ++i) {
    if (spec_.isa == Isa::avx512) {
      code_.vextractf64x4(Xbyak::Ymm(temp), Xbyak::Zmm(i), 1);
      reduce_into(i, temp);
      code_.vextractf64x2(low, Xbyak::Ymm(i), 1);
    } else {
      code_.vextractf128(low, Xbyak::Ymm(i), 1);
    }
    reduce_into(i, temp);
    const auto shuffle = [&](int control) {
      single ? code_.vpermilps(low, Xbyak::Xmm(i), control) : code_.vpermilpd(low, Xbyak::Xmm(i), control);
      reduce_into(i, temp);
    };
    if (single) {
      shuffle(0b01001110);
      shuffle(0b10110001);
    } else {
      shuffle(0b01);
    }
  }
  const When::Kind first = spec_.accumulate ? When::never : combined(first_);
  if (first == When::always) return;
  Xbyak::Label load_label, done;
  if (first == When::dynamic) {
    branch_unless(first_, load_label);
    code_.jmp(done, Xbyak::CodeGenerator::T_NEAR);
    code_.L(load_label);
  }
  for (int i = 0; i < size; ++i) {
    unit_.load_scalar(temp, address(kOutput, tile_.entries[i].output_offset));
    reduce_into(i, temp);
  }
  code_.L(done);
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
