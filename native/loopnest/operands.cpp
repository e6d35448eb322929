// Single accesses: addresses, vectors, broadcasts, gathers, the output's loads and stores.
#include <array>

#include "frame.hpp"
#include "nest_emitter.hpp"

namespace strop {

using namespace Xbyak::util;

Xbyak::Reg64 NestEmitter::pointer(int tensor) const { return tensor == kOutput ? rdi : tensor == 0 ? rsi : rdx; }

Xbyak::Address NestEmitter::address(const Xbyak::Reg64& base, int64_t offset) {
  if (offset == static_cast<int32_t>(offset)) return ptr[base + static_cast<int32_t>(offset)];
  code_.mov(r11, offset);
  return ptr[base + r11];
}

Xbyak::Address NestEmitter::address(int tensor, int64_t offset) { return address(pointer(tensor), offset); }

// How a term reads an input at the current place. A vector of one output lane is a broadcast: no mask is needed.
NestEmitter::Reference NestEmitter::reference(int tensor, int lanes) const {
  const int64_t stride = vector_stride(tensor);
  const bool single = lanes == 1 && !vector_is_reduction();
  const Access access = stride == 0 || single        ? Access::broadcast
                        : stride == unit_.scalar()   ? Access::vector
                                                     : Access::gather;
  return {tensor, access, offset_[tensor], access == Access::broadcast ? unit_.lanes() : lanes};
}

void NestEmitter::load_reference(int dst, const Reference& reference) {
  switch (reference.access) {
    case Access::broadcast:
      return unit_.broadcast(dst, address(reference.tensor, reference.offset));
    case Access::vector:
      if (reference.lanes != unit_.lanes()) ensure_mask(reference.lanes);
      return unit_.load(dst, address(reference.tensor, reference.offset), reference.lanes, mask_register_);
    case Access::gather:
      return gather(dst, reference);
  }
}

void NestEmitter::ensure_mask(int lanes) {
  if (mask_lanes_ == lanes) return;
  unit_.set_mask(lanes, mask_register_);
  mask_lanes_ = lanes;
}

void NestEmitter::gather(int dst, const Reference& reference) {
  const int64_t stride = vector_stride(reference.tensor);
  const int64_t reach = stride * (unit_.lanes() - 1);
  if (reach != static_cast<int32_t>(reach))  // beyond what an index can say
    return load_strided(dst, pointer(reference.tensor), reference.offset, stride, reference.lanes);
  std::vector<uint8_t> bytes;
  for (int lane = 0; lane < unit_.lanes(); ++lane) {
    const auto index = static_cast<int32_t>(lane * stride);
    const auto* raw = reinterpret_cast<const uint8_t*>(&index);
    bytes.insert(bytes.end(), raw, raw + 4);
  }
  const bool single = spec_.type == Scalar::f32;
  const Xbyak::Address indices = unit_.pool(bytes);
  const bool partial = reference.lanes != unit_.lanes();
  Xbyak::Reg64 base = pointer(reference.tensor);
  int64_t offset = reference.offset;
  if (offset != static_cast<int32_t>(offset)) {
    code_.mov(r11, offset);
    code_.add(r11, base);
    base = r11;
    offset = 0;
  }
  const auto at = [&](const Xbyak::Xmm& index) { return ptr[base + index + static_cast<int32_t>(offset)]; };
  if (spec_.isa == Isa::avx512) {
    if (partial) {
      ensure_mask(reference.lanes);
      code_.kmovw(code_.k3, code_.k1);
    } else {
      code_.kxnorw(code_.k3, code_.k3, code_.k3);
    }
    unit_.zero(dst);  // lanes that are not read, and no dependence on what was there
    if (single) {
      const Xbyak::Zmm index(gather_index_);
      code_.vmovups(index, indices);
      code_.vgatherdps(Xbyak::Zmm(dst) | code_.k3, at(index));
    } else {
      const Xbyak::Ymm index(gather_index_);
      code_.vmovups(index, indices);
      code_.vgatherdpd(Xbyak::Zmm(dst) | code_.k3, at(index));
    }
    return;
  }
  if (partial) {
    ensure_mask(reference.lanes);
    unit_.move(gather_mask_, mask_register_);
  } else {
    code_.vpcmpeqd(Xbyak::Ymm(gather_mask_), Xbyak::Ymm(gather_mask_), Xbyak::Ymm(gather_mask_));
  }
  unit_.zero(dst);
  if (single) {
    const Xbyak::Ymm index(gather_index_);
    code_.vmovups(index, indices);
    code_.vgatherdps(Xbyak::Ymm(dst), at(index), Xbyak::Ymm(gather_mask_));
  } else {
    const Xbyak::Xmm index(gather_index_);
    code_.vmovups(index, indices);
    code_.vgatherdpd(Xbyak::Ymm(dst), at(index), Xbyak::Ymm(gather_mask_));
  }
}

// Lane by lane through the stack: any stride, no byte outside the elements.
void NestEmitter::load_strided(int dst, const Xbyak::Reg64& base, int64_t offset, int64_t stride, int lanes) {
  unit_.zero(dst);
  unit_.store(ptr[rsp + frame::kBounce], dst, unit_.lanes(), -1);
  for (int lane = 0; lane < lanes; ++lane) {
    const Xbyak::Address from = address(base, offset + lane * stride);
    if (spec_.type == Scalar::f32) {
      code_.mov(r11d, from);
      code_.mov(dword[rsp + frame::kBounce + 4 * lane], r11d);
    } else {
      code_.mov(r11, from);
      code_.mov(qword[rsp + frame::kBounce + 8 * lane], r11);
    }
  }
  unit_.load(dst, ptr[rsp + frame::kBounce], unit_.lanes(), -1);
}

void NestEmitter::load_output(int dst, const TileEntry& entry) {
  const int64_t stride = vector_stride(kOutput);
  if (entry.lanes == 1) return unit_.load_scalar(dst, address(kOutput, entry.output_offset));
  if (stride != unit_.scalar())
    return load_strided(dst, pointer(kOutput), entry.output_offset, stride, entry.lanes);
  if (entry.lanes != unit_.lanes()) ensure_mask(entry.lanes);
  unit_.load(dst, address(kOutput, entry.output_offset), entry.lanes, mask_register_);
}

void NestEmitter::store_output(int src, const TileEntry& entry) {
  const int64_t stride = vector_stride(kOutput);
  if (entry.lanes == 1) return unit_.store_scalar(address(kOutput, entry.output_offset), src);
  if (stride == unit_.scalar()) {
    if (entry.lanes != unit_.lanes()) ensure_mask(entry.lanes);
    return unit_.store(address(kOutput, entry.output_offset), src, entry.lanes, mask_register_);
  }
  unit_.store(ptr[rsp + frame::kBounce], src, unit_.lanes(), -1);
  for (int lane = 0; lane < entry.lanes; ++lane) {
    if (spec_.type == Scalar::f32) {
      code_.mov(eax, dword[rsp + frame::kBounce + 4 * lane]);
      code_.mov(address(kOutput, entry.output_offset + lane * stride), eax);
    } else {
      code_.mov(rax, qword[rsp + frame::kBounce + 8 * lane]);
      code_.mov(address(kOutput, entry.output_offset + lane * stride), rax);
    }
  }
}

void NestEmitter::load_extra(int dst, int extra, const TileEntry& entry) {
  const int64_t stride = vector_stride(kExtra + extra);
  const int64_t offset = entry.extra_offsets[extra];
  code_.mov(rax, ptr[rsp + frame::kExtraSlots + 8 * extra]);
  if (stride == 0 || entry.lanes == 1) return unit_.broadcast(dst, address(rax, offset));
  if (stride != unit_.scalar()) return load_strided(dst, rax, offset, stride, entry.lanes);
  if (entry.lanes != unit_.lanes()) ensure_mask(entry.lanes);
  unit_.load(dst, address(rax, offset), entry.lanes, mask_register_);
}

}  // namespace strop
