// The C extension: each compressed instruction stands for one of 32 bits (unprivileged ISA manual, chapter "C").
#include "decode.hpp"

namespace strop::rocket {
namespace {

constexpr uint32_t kOpLoad = 0x03, kOpLoadFloat = 0x07, kOpImm = 0x13, kOpImm32 = 0x1b, kOpStore = 0x23,
                   kOpStoreFloat = 0x27, kOp = 0x33, kOp32 = 0x3b, kOpLui = 0x37, kOpBranch = 0x63, kOpJalr = 0x67,
                   kOpJal = 0x6f;

// Bits [high, low] of c, moved so that the lowest stands at `to`.
constexpr uint32_t take(uint32_t c, int high, int low, int to) { return (c >> low & ((2u << (high - low)) - 1)) << to; }

constexpr int32_t sign_extend(uint32_t value, int bits) {
  return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits);
}

constexpr uint32_t i_type(uint32_t op, uint32_t funct3, uint32_t rd, uint32_t rs1, int32_t imm) {
  return op | rd << 7 | funct3 << 12 | rs1 << 15 | static_cast<uint32_t>(imm) << 20;
}

constexpr uint32_t r_type(uint32_t op, uint32_t funct3, uint32_t funct7, uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return op | rd << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | funct7 << 25;
}

constexpr uint32_t s_type(uint32_t op, uint32_t funct3, uint32_t rs1, uint32_t rs2, uint32_t imm) {
  return op | (imm & 31) << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5) << 25;
}

constexpr uint32_t branch(uint32_t funct3, uint32_t rs1, int32_t offset) {
  const uint32_t imm = static_cast<uint32_t>(offset);
  return kOpBranch | take(imm, 11, 11, 7) | take(imm, 4, 1, 8) | funct3 << 12 | rs1 << 15 | take(imm, 10, 5, 25) |
         take(imm, 12, 12, 31);
}

constexpr uint32_t jump(uint32_t rd, int32_t offset) {
  const uint32_t imm = static_cast<uint32_t>(offset);
  return kOpJal | rd << 7 | take(imm, 19, 12, 12) | take(imm, 11, 11, 20) | take(imm, 10, 1, 21) | take(imm, 20, 20, 31);
}

uint32_t quadrant0(uint32_t c) {
  const uint32_t rd = 8 + take(c, 4, 2, 0), rs1 = 8 + take(c, 9, 7, 0);
  const uint32_t word = take(c, 12, 10, 3) | take(c, 6, 6, 2) | take(c, 5, 5, 6);
  const uint32_t doubleword = take(c, 12, 10, 3) | take(c, 6, 5, 6);
  switch (c >> 13) {
    case 0: {
      const uint32_t imm = take(c, 12, 11, 4) | take(c, 10, 7, 6) | take(c, 6, 6, 2) | take(c, 5, 5, 3);
      return imm == 0 ? 0 : i_type(kOpImm, 0, rd, 2, static_cast<int32_t>(imm));
    }
    case 1: return i_type(kOpLoadFloat, 3, rd, rs1, static_cast<int32_t>(doubleword));
    case 2: return i_type(kOpLoad, 2, rd, rs1, static_cast<int32_t>(word));
    case 3: return i_type(kOpLoad, 3, rd, rs1, static_cast<int32_t>(doubleword));
    case 5: return s_type(kOpStoreFloat, 3, rs1, rd, doubleword);
    case 6: return s_type(kOpStore, 2, rs1, rd, word);
    case 7: return s_type(kOpStore, 3, rs1, rd, doubleword);
    default: return 0;
  }
}

uint32_t arithmetic(uint32_t c, int32_t imm) {
  const uint32_t rd = 8 + take(c, 9, 7, 0), rs2 = 8 + take(c, 4, 2, 0);
  const uint32_t shift = take(c, 12, 12, 5) | take(c, 6, 2, 0);
  switch (take(c, 11, 10, 0)) {
    case 0: return i_type(kOpImm, 5, rd, rd, static_cast<int32_t>(shift));
    case 1: return i_type(kOpImm, 5, rd, rd, static_cast<int32_t>(shift | 0x400));
    case 2: return i_type(kOpImm, 7, rd, rd, imm);
    default: break;
  }
  switch (take(c, 12, 12, 2) | take(c, 6, 5, 0)) {
    case 0: return r_type(kOp, 0, 0x20, rd, rd, rs2);
    case 1: return r_type(kOp, 4, 0, rd, rd, rs2);
    case 2: return r_type(kOp, 6, 0, rd, rd, rs2);
    case 3: return r_type(kOp, 7, 0, rd, rd, rs2);
    case 4: return r_type(kOp32, 0, 0x20, rd, rd, rs2);
    case 5: return r_type(kOp32, 0, 0, rd, rd, rs2);
    default: return 0;
  }
}

uint32_t quadrant1(uint32_t c) {
  const uint32_t rd = take(c, 11, 7, 0), rs1 = 8 + take(c, 9, 7, 0);
  const int32_t imm = sign_extend(take(c, 12, 12, 5) | take(c, 6, 2, 0), 6);
  const int32_t target = sign_extend(take(c, 12, 12, 8) | take(c, 11, 10, 3) | take(c, 6, 5, 6) | take(c, 4, 3, 1) |
                                         take(c, 2, 2, 5), 9);
  switch (c >> 13) {
    case 0: return i_type(kOpImm, 0, rd, rd, imm);
    case 1: return rd == 0 ? 0 : i_type(kOpImm32, 0, rd, rd, imm);
    case 2: return i_type(kOpImm, 0, rd, 0, imm);
    case 3: {
      if (rd != 2) return imm == 0 ? 0 : kOpLui | rd << 7 | static_cast<uint32_t>(imm) << 12;
      const int32_t frame = sign_extend(take(c, 12, 12, 9) | take(c, 6, 6, 4) | take(c, 5, 5, 6) | take(c, 4, 3, 7) |
                                            take(c, 2, 2, 5), 10);
      return frame == 0 ? 0 : i_type(kOpImm, 0, 2, 2, frame);
    }
    case 4: return arithmetic(c, imm);
    case 5:
      return jump(0, sign_extend(take(c, 12, 12, 11) | take(c, 11, 11, 4) | take(c, 10, 9, 8) | take(c, 8, 8, 10) |
                                     take(c, 7, 7, 6) | take(c, 6, 6, 7) | take(c, 5, 3, 1) | take(c, 2, 2, 5), 12));
    case 6: return branch(0, rs1, target);
    default: return branch(1, rs1, target);
  }
}

uint32_t quadrant2(uint32_t c) {
  const uint32_t rd = take(c, 11, 7, 0), rs2 = take(c, 6, 2, 0);
  const int32_t doubleword = static_cast<int32_t>(take(c, 12, 12, 5) | take(c, 6, 5, 3) | take(c, 4, 2, 6));
  const uint32_t stored = take(c, 12, 10, 3) | take(c, 9, 7, 6);
  switch (c >> 13) {
    case 0: return i_type(kOpImm, 1, rd, rd, static_cast<int32_t>(take(c, 12, 12, 5) | take(c, 6, 2, 0)));
    case 1: return i_type(kOpLoadFloat, 3, rd, 2, doubleword);
    case 2:
      if (rd == 0) return 0;
      return i_type(kOpLoad, 2, rd, 2, static_cast<int32_t>(take(c, 12, 12, 5) | take(c, 6, 4, 2) | take(c, 3, 2, 6)));
    case 3: return rd == 0 ? 0 : i_type(kOpLoad, 3, rd, 2, doubleword);
    case 4:
      if (take(c, 12, 12, 0) == 0) {
        if (rs2 != 0) return r_type(kOp, 0, 0, rd, 0, rs2);
        return rd == 0 ? 0 : i_type(kOpJalr, 0, 0, rd, 0);
      }
      if (rs2 != 0) return r_type(kOp, 0, 0, rd, rd, rs2);
      return rd == 0 ? 0x00100073 /* ebreak */ : i_type(kOpJalr, 0, 1, rd, 0);
    case 5: return s_type(kOpStoreFloat, 3, 2, rs2, stored);
    case 6: return s_type(kOpStore, 2, 2, rs2, take(c, 12, 9, 2) | take(c, 8, 7, 6));
    default: return s_type(kOpStore, 3, 2, rs2, stored);
  }
}

}  // namespace

uint32_t expand_compressed(uint16_t bits) {
  switch (bits & 3) {
    case 0: return quadrant0(bits);
    case 1: return quadrant1(bits);
    case 2: return quadrant2(bits);
    default: return 0;
  }
}

}  // namespace strop::rocket
