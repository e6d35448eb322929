// The terms of a tile: gathered from straight code, emitted with operands kept in leftover registers, and added up.
#include <algorithm>
#include <array>
#include <cmath>

#include "nest_emitter.hpp"

namespace strop {

using namespace Xbyak::util;

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

}  // namespace strop
