// The vector instructions of AVX2+FMA and of AVX-512 (F and VL; DQ is not needed here), and the kernel's constant pool.
#include "vector_unit.hpp"

#if STROP_X86

#include <bit>
#include <cstring>
#include <utility>

namespace strop {

using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Xmm;

namespace {

constexpr size_t kLine = 64;

// Every instruction here exists once for float32 and once for float64.
#define STROP_BY_TYPE(name, ...) (scalar_ == 4 ? code_.name##s(__VA_ARGS__) : code_.name##d(__VA_ARGS__))

template <class T>
void append(std::vector<uint8_t>& bytes, T value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

}  // namespace

VectorUnit::VectorUnit(Xbyak::CodeGenerator& code, Isa isa, Scalar type)
    : code_(code), isa_(isa), type_(type), bytes_(isa == Isa::avx512 ? 64 : 32), scalar_(scalar_bytes(type)) {
  for (int i = 0; i < 32; ++i) registers_[i] = Xmm(wide() ? Operand::ZMM : Operand::YMM, i);
}

VectorUnit::~VectorUnit() {
  for (Entry* entry : entries_) delete entry;
}

void VectorUnit::set_mask(int count, int mask_register) {
  if (wide()) {  // from the register alone: no memory, no general register
    code_.kxnorw(code_.k1, code_.k1, code_.k1);
    code_.kshiftrw(code_.k1, code_.k1, static_cast<uint8_t>(16 - count));
    return;
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(bytes_), 0);
  std::memset(bytes.data(), 0xff, static_cast<size_t>(count * scalar_));
  code_.vmovups(reg(mask_register), address(place(std::move(bytes))));
}

void VectorUnit::load(int dst, const Address& from, int count, int mask_register) {
  if (count == lanes())
    STROP_BY_TYPE(vmovup, reg(dst), from);
  else if (wide())
    STROP_BY_TYPE(vmovup, reg(dst) | code_.k1 | code_.T_z, from);
  else
    STROP_BY_TYPE(vmaskmovp, reg(dst), reg(mask_register), from);
}

void VectorUnit::store(const Address& to, int src, int count, int mask_register) {
  if (count == lanes())
    STROP_BY_TYPE(vmovup, to, reg(src));
  else if (wide())
    STROP_BY_TYPE(vmovup, to | code_.k1, reg(src));
  else
    STROP_BY_TYPE(vmaskmovp, to, reg(mask_register), reg(src));
}

void VectorUnit::load_scalar(int dst, const Address& from) { STROP_BY_TYPE(vmovs, xmm(dst), from); }

void VectorUnit::store_scalar(const Address& to, int src) { STROP_BY_TYPE(vmovs, to, xmm(src)); }

void VectorUnit::broadcast(int dst, const Address& from) {
  if (scalar_ == 4)
    code_.vbroadcastss(reg(dst), from);
  else
    code_.vbroadcastsd(Xbyak::Ymm(dst, wide() ? Operand::ZMM : Operand::YMM, bytes_ * 8), from);
}

void VectorUnit::move(int dst, int src) {
  if (dst != src) code_.vmovaps(reg(dst), reg(src));
}

void VectorUnit::zero(int dst) {
  if (dst < 16)
    code_.vxorps(xmm(dst), xmm(dst), xmm(dst));  // clears the whole register, in the shortest encoding
  else
    code_.vpxord(reg(dst), reg(dst), reg(dst));
}

void VectorUnit::add(int dst, int a, const Operand& b) { STROP_BY_TYPE(vaddp, reg(dst), reg(a), b); }
void VectorUnit::sub(int dst, int a, const Operand& b) { STROP_BY_TYPE(vsubp, reg(dst), reg(a), b); }
void VectorUnit::mul(int dst, int a, const Operand& b) { STROP_BY_TYPE(vmulp, reg(dst), reg(a), b); }
void VectorUnit::div(int dst, int a, const Operand& b) { STROP_BY_TYPE(vdivp, reg(dst), reg(a), b); }
void VectorUnit::min(int dst, int a, const Operand& b) { STROP_BY_TYPE(vminp, reg(dst), reg(a), b); }
void VectorUnit::max(int dst, int a, const Operand& b) { STROP_BY_TYPE(vmaxp, reg(dst), reg(a), b); }
void VectorUnit::fma231(int dst, int a, const Operand& b) { STROP_BY_TYPE(vfmadd231p, reg(dst), reg(a), b); }
void VectorUnit::fma213(int dst, int a, const Operand& b) { STROP_BY_TYPE(vfmadd213p, reg(dst), reg(a), b); }
void VectorUnit::fnma231(int dst, int a, const Operand& b) { STROP_BY_TYPE(vfnmadd231p, reg(dst), reg(a), b); }
void VectorUnit::fmsub231(int dst, int a, const Operand& b) { STROP_BY_TYPE(vfmsub231p, reg(dst), reg(a), b); }

void VectorUnit::bits_and(int dst, int a, const Operand& b) {
  wide() ? code_.vpandd(reg(dst), reg(a), b) : code_.vandps(reg(dst), reg(a), b);
}

void VectorUnit::bits_xor(int dst, int a, const Operand& b) {
  wide() ? code_.vpxord(reg(dst), reg(a), b) : code_.vxorps(reg(dst), reg(a), b);
}

void VectorUnit::shift_left(int dst, int a, int count) {
  const auto amount = static_cast<uint8_t>(count);
  scalar_ == 4 ? code_.vpslld(reg(dst), reg(a), amount) : code_.vpsllq(reg(dst), reg(a), amount);
}

void VectorUnit::shift_right(int dst, int a, int count) {
  const auto amount = static_cast<uint8_t>(count);
  scalar_ == 4 ? code_.vpsrld(reg(dst), reg(a), amount) : code_.vpsrlq(reg(dst), reg(a), amount);
}

void VectorUnit::integer_add(int dst, int a, const Operand& b) {
  scalar_ == 4 ? code_.vpaddd(reg(dst), reg(a), b) : code_.vpaddq(reg(dst), reg(a), b);
}

void VectorUnit::integer_sub(int dst, int a, const Operand& b) {
  scalar_ == 4 ? code_.vpsubd(reg(dst), reg(a), b) : code_.vpsubq(reg(dst), reg(a), b);
}

void VectorUnit::scale(int dst, int a, int exponent) { STROP_BY_TYPE(vscalefp, reg(dst), reg(a), reg(exponent)); }

void VectorUnit::take_nan(int dst, int from, int temporary) {
  constexpr uint8_t unordered = 3;
  if (wide()) {
    STROP_BY_TYPE(vcmpp, code_.k2, reg(from), reg(from), unordered);
    STROP_BY_TYPE(vmovap, reg(dst) | code_.k2, reg(from));
  } else {
    STROP_BY_TYPE(vcmpp, reg(temporary), reg(from), reg(from), unordered);
    STROP_BY_TYPE(vblendvp, reg(dst), reg(dst), reg(from), reg(temporary));
  }
}

#undef STROP_BY_TYPE

Address VectorUnit::constant(double value) {
  if (scalar_ == 4) return constant_bits(std::bit_cast<uint32_t>(static_cast<float>(value)));
  return constant_bits(std::bit_cast<uint64_t>(value));
}

Address VectorUnit::constant_bits(uint64_t bits) {
  const auto [position, fresh] = constants_.try_emplace(bits, 0);
  if (fresh) {
    std::vector<uint8_t> bytes;
    for (int lane = 0; lane < lanes(); ++lane) {
      if (scalar_ == 4)
        append(bytes, static_cast<uint32_t>(bits));
      else
        append(bytes, bits);
    }
    position->second = place(std::move(bytes));
  }
  return address(position->second);
}

Address VectorUnit::pool(const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> padded = bytes;
  padded.resize((bytes.size() + kLine - 1) / kLine * kLine, 0);
  return address(place(std::move(padded)));
}

int VectorUnit::place(std::vector<uint8_t> bytes) {
  const auto [position, fresh] = index_.try_emplace(bytes, static_cast<int>(entries_.size()));
  if (fresh) entries_.push_back(new Entry{std::move(bytes), Xbyak::Label()});
  return position->second;
}

Address VectorUnit::address(int entry) const {
  return Xbyak::util::ptr[Xbyak::util::rip + entries_[static_cast<size_t>(entry)]->label];
}

void VectorUnit::emit_pool() {
  // Aligned from the start of the code, not by address: the code moves from its heap buffer to the arena.
  // A data entry is a whole number of lines; a constant of AVX2 is half a line and needs only that.
  for (Entry* entry : entries_) {
    const size_t alignment = entry->bytes.size() < kLine ? entry->bytes.size() : kLine;
    while (code_.getSize() % alignment != 0) code_.db(0);
    code_.L(entry->label);
    code_.db(entry->bytes.data(), entry->bytes.size());
  }
}

}  // namespace strop

#endif  // STROP_X86
