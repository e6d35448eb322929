#include "timing.hpp"

#include <algorithm>

namespace strop::rocket {

BranchPredictor::BranchPredictor(uint64_t btb_entries, uint64_t bht_entries, uint64_t ras_entries, BranchCosts costs)
    : costs_(costs),
      entries_(std::min<uint64_t>(btb_entries, 256)),
      bht_(std::bit_floor(std::clamp<uint64_t>(bht_entries, 1, 1 << 20))),
      bht_mask_(bht_.size() - 1),
      bht_bits_(static_cast<uint64_t>(std::countr_zero(bht_.size()))),
      stack_(std::min<uint64_t>(ras_entries, 1024)) {
  reset();
}

void BranchPredictor::reset() {
  std::fill(entries_.begin(), entries_.end(), Entry{UINT64_MAX, 0});
  hints_.fill(0);
  std::fill(bht_.begin(), bht_.end(), 0);
  next_ = top_ = depth_ = 0;
  history_ = 0;
}

Timing::Timing(const Parameters& p)
    : memory_stage(static_cast<uint64_t>(p.get("rocket.stage.memory"))),
      writeback_stage(static_cast<uint64_t>(p.get("rocket.stage.writeback"))),
      branches(static_cast<uint64_t>(p.get("rocket.branch.btb_entries")),
               static_cast<uint64_t>(p.get("rocket.branch.bht_entries")),
               static_cast<uint64_t>(p.get("rocket.branch.ras_entries")),
               {static_cast<uint64_t>(p.get("rocket.branch.mispredict")),
                static_cast<uint64_t>(p.get("rocket.branch.redirect")),
                static_cast<uint64_t>(p.get("rocket.branch.misaligned_target"))}),
      icache(static_cast<uint64_t>(p.get("rocket.icache.sets")), static_cast<uint64_t>(p.get("rocket.icache.ways")),
             static_cast<uint64_t>(p.get("rocket.cache.line")), static_cast<uint64_t>(p.get("rocket.icache.miss"))),
      dcache(static_cast<uint64_t>(p.get("rocket.dcache.sets")), static_cast<uint64_t>(p.get("rocket.dcache.ways")),
             static_cast<uint64_t>(p.get("rocket.cache.line")), static_cast<uint64_t>(p.get("rocket.dcache.miss"))),
      overhead_(static_cast<uint64_t>(p.get("rocket.muldiv.overhead"))),
      unroll_(std::clamp<uint64_t>(static_cast<uint64_t>(p.get("rocket.multiply.unroll")), 1, 64)),
      flush_(static_cast<uint64_t>(p.get("rocket.flush"))),
      replay_(static_cast<uint64_t>(p.get("rocket.rocc.replay"))),
      retry_(static_cast<uint64_t>(p.get("rocket.rocc.retry"))),
      misaligned_(static_cast<uint64_t>(p.get("rocket.misaligned.cycles"))),
      multiply_early_(p.get("rocket.multiply.early_out") != 0),
      divide_early_(p.get("rocket.divide.early_out") != 0) {
  const auto set = [&](Cost cost, const char* name) {
    latency_[static_cast<int>(cost)] = static_cast<uint32_t>(p.get(std::string("rocket.latency.") + name));
  };
  latency_.fill(1);
  set(Cost::alu, "alu");
  set(Cost::jump, "jump");
  set(Cost::load_word, "load_word");
  set(Cost::load_byte, "load_byte");
  set(Cost::load_float, "load_float");
  set(Cost::csr, "csr");
  set(Cost::float_to_int, "float_to_int");
  set(Cost::int_to_float, "int_to_float");
  set(Cost::float_move, "float_move");
  set(Cost::float_single, "float_single");
  set(Cost::float_double, "float_double");
  set(Cost::float_divide_single, "float_divide_single");
  set(Cost::float_divide_double, "float_divide_double");
}

void Timing::reset() {
  cycle = 0;
  ready.fill(0);
  stalls = {};
  muldiv_free_ = fpu_free_ = command_sent_ = 0;
  branches.reset();
  icache.reset();
  dcache.reset();
}

// Multiplier.scala: `unroll` bits of rs1 a cycle; the low product stops early when the bits left are zero.
uint64_t Timing::multiply_steps(const Instruction& i, uint64_t a) const {
  const uint64_t width = i.opcode == Opcode::mulw ? 32 : 64;
  const uint64_t all = (width + unroll_ - 1) / unroll_;
  if (!multiply_early_ || (i.opcode != Opcode::mul && i.opcode != Opcode::mulw)) return all;
  const uint64_t bits = static_cast<uint64_t>(std::bit_width(width == 32 ? a & 0xffffffff : a));
  return std::min(all, (bits + unroll_ - 1) / unroll_ + 1);
}

// Multiplier.scala: a bit a cycle after a step to negate signed operands, and one to negate the result; the first
// step skips the bits by which the divisor is shorter than the dividend.
uint64_t Timing::divide_steps(const Instruction& i, uint64_t a, uint64_t b) const {
  const bool half = i.opcode == Opcode::divw || i.opcode == Opcode::divuw || i.opcode == Opcode::remw ||
                    i.opcode == Opcode::remuw;
  const bool is_signed = i.opcode == Opcode::div || i.opcode == Opcode::rem || i.opcode == Opcode::divw ||
                         i.opcode == Opcode::remw;
  const bool remainder = i.opcode == Opcode::rem || i.opcode == Opcode::remu || i.opcode == Opcode::remw ||
                         i.opcode == Opcode::remuw;
  if (half) {
    a = is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(a))) : a & 0xffffffff;
    b = is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(b))) : b & 0xffffffff;
  }
  const bool negative_a = is_signed && (a >> 63), negative_b = is_signed && (b >> 63);
  uint64_t steps = 65;
  if (negative_a) a = 0 - a;
  if (negative_b) b = 0 - b;
  if (divide_early_ && b != 0) {
    const int a_top = a == 0 ? 0 : 63 - std::countl_zero(a), b_top = 63 - std::countl_zero(b);
    const uint64_t skipped = static_cast<uint64_t>(63 - a_top + b_top) & 63;
    if (skipped >= 1) steps = 66 - skipped;
  }
  if (negative_a || negative_b) ++steps;
  if (remainder ? negative_a : (negative_a != negative_b && b != 0)) ++steps;
  return steps;
}

}  // namespace strop::rocket
