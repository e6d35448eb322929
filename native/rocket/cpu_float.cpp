// Float operations: which function, in which rounding mode, from and to which registers.
#include "cpu.hpp"
#include "fp.hpp"

namespace strop::rocket {
namespace {

constexpr uint64_t kSign32 = 0x80000000, kSign64 = uint64_t{1} << 63;

uint64_t sign_extended(uint64_t word) { return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(word))); }

}  // namespace

bool Cpu::float_operation(const Instruction& i) {
  if (!float_on_) return false;
  const uint8_t rounding = i.rounding == 7 ? frm_ : i.rounding;
  if (rounding > fp::kNearestMax) return false;
  return i.wide ? float_operation<true>(i, rounding) : float_operation<false>(i, rounding);
}

template <bool kWide>
bool Cpu::float_operation(const Instruction& i, uint8_t rounding) {
  constexpr uint64_t kSign = kWide ? kSign64 : kSign32;
  const auto source = [this](uint8_t r) { return kWide ? registers_[r] : fp::unbox(registers_[r]); };
  fp::Status status{rounding, fflags_};
  const auto put = [&](uint64_t value) {
    registers_[i.rd] = kWide ? value : value | fp::kBoxed;
    fflags_ = status.flags;
    return true;
  };
  const auto put_integer = [&](uint64_t value) {
    registers_[i.rd] = value;
    fflags_ = status.flags;
    return true;
  };
  const uint64_t a = source(i.rs1), b = source(i.rs2);
  switch (static_cast<FloatOp>(i.sub)) {
    case FloatOp::fmadd: return put(fp::fused<kWide>(a, b, source(i.rs3), status));
    case FloatOp::fmsub: return put(fp::fused<kWide>(a, b, source(i.rs3) ^ kSign, status));
    case FloatOp::fnmsub: return put(fp::fused<kWide>(a ^ kSign, b, source(i.rs3), status));
    case FloatOp::fnmadd: return put(fp::fused<kWide>(a ^ kSign, b, source(i.rs3) ^ kSign, status));
    case FloatOp::add: return put(fp::add<kWide>(a, b, status));
    case FloatOp::sub: return put(fp::add<kWide>(a, b ^ kSign, status));
    case FloatOp::mul: return put(fp::mul<kWide>(a, b, status));
    case FloatOp::div: return put(fp::div<kWide>(a, b, status));
    case FloatOp::sqrt: return put(fp::sqrt<kWide>(a, status));
    case FloatOp::sgnj: return put((a & ~kSign) | (b & kSign));
    case FloatOp::sgnjn: return put((a & ~kSign) | (~b & kSign));
    case FloatOp::sgnjx: return put(a ^ (b & kSign));
    case FloatOp::min: return put(fp::min_max<kWide>(a, b, false, status));
    case FloatOp::max: return put(fp::min_max<kWide>(a, b, true, status));
    case FloatOp::eq: return put_integer(fp::equal<kWide>(a, b, status));
    case FloatOp::lt: return put_integer(fp::less<kWide>(a, b, false, status));
    case FloatOp::le: return put_integer(fp::less<kWide>(a, b, true, status));
    case FloatOp::classify: return put_integer(fp::classify<kWide>(a));
    case FloatOp::to_w: return put_integer(fp::to_integer<kWide>(a, 32, true, status));
    case FloatOp::to_wu: return put_integer(fp::to_integer<kWide>(a, 32, false, status));
    case FloatOp::to_l: return put_integer(fp::to_integer<kWide>(a, 64, true, status));
    case FloatOp::to_lu: return put_integer(fp::to_integer<kWide>(a, 64, false, status));
    case FloatOp::from_w: return put(fp::from_integer<kWide>(sign_extended(registers_[i.rs1]), true, status));
    case FloatOp::from_wu: return put(fp::from_integer<kWide>(registers_[i.rs1] & 0xffffffff, false, status));
    case FloatOp::from_l: return put(fp::from_integer<kWide>(registers_[i.rs1], true, status));
    case FloatOp::from_lu: return put(fp::from_integer<kWide>(registers_[i.rs1], false, status));
    case FloatOp::move_to_int:  // the bits as they are, boxed or not
      return put_integer(kWide ? registers_[i.rs1] : sign_extended(registers_[i.rs1]));
    case FloatOp::move_from_int: return put(kWide ? registers_[i.rs1] : registers_[i.rs1] & 0xffffffff);
    case FloatOp::convert:
      return put(kWide ? fp::widen(fp::unbox(registers_[i.rs1]), status) : fp::narrow(registers_[i.rs1], status));
  }
  return false;
}

}  // namespace strop::rocket
