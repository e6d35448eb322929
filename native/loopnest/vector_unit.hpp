// Emits the vector instructions of one instruction set and one element type. Registers are plain numbers.
#pragma once

#if STROP_X86

#include <cstdint>
#include <map>
#include <vector>

#include "spec.hpp"
#include "xbyak/xbyak.h"

namespace strop {

class VectorUnit {
 public:
  VectorUnit(Xbyak::CodeGenerator& code, Isa isa, Scalar type);

  Xbyak::CodeGenerator& code() { return code_; }
  Isa isa() const { return isa_; }
  Scalar type() const { return type_; }
  bool wide() const { return isa_ == Isa::avx512; }
  int lanes() const { return bytes_ / scalar_; }      // elements a register holds
  int bytes() const { return bytes_; }                // bytes of a register
  int scalar() const { return scalar_; }              // bytes of an element
  int registers() const { return wide() ? 32 : 16; }
  Xbyak::Xmm reg(int index) const { return registers_[index]; }  // ymm or zmm
  Xbyak::Xmm xmm(int index) const { return Xbyak::Xmm(index); }

  // A partial vector needs its mask ready: AVX2 keeps it in a vector register, AVX-512 in k1.
  void set_mask(int lanes, int mask_register);        // mask_register is unused on AVX-512
  void load(int dst, const Xbyak::Address& from, int lanes, int mask_register);
  void store(const Xbyak::Address& to, int src, int lanes, int mask_register);
  void load_scalar(int dst, const Xbyak::Address& from);       // lane 0, others zero
  void store_scalar(const Xbyak::Address& to, int src);        // lane 0
  void broadcast(int dst, const Xbyak::Address& from);

  void move(int dst, int src);
  void zero(int dst);
  void add(int dst, int a, const Xbyak::Operand& b);
  void sub(int dst, int a, const Xbyak::Operand& b);
  void mul(int dst, int a, const Xbyak::Operand& b);
  void div(int dst, int a, const Xbyak::Operand& b);
  void min(int dst, int a, const Xbyak::Operand& b);   // the instruction: the second source wins when unordered
  void max(int dst, int a, const Xbyak::Operand& b);
  void fma231(int dst, int a, const Xbyak::Operand& b);   // dst = a * b + dst
  void fma213(int dst, int a, const Xbyak::Operand& b);   // dst = a * dst + b
  void fnma231(int dst, int a, const Xbyak::Operand& b);  // dst = -(a * b) + dst
  void fmsub231(int dst, int a, const Xbyak::Operand& b);  // dst = a * b - dst

  // The bits of elements, and elements read as integers of their width.
  void bits_and(int dst, int a, const Xbyak::Operand& b);
  void bits_xor(int dst, int a, const Xbyak::Operand& b);
  void shift_left(int dst, int a, int count);
  void shift_right(int dst, int a, int count);           // zeros enter
  void integer_add(int dst, int a, const Xbyak::Operand& b);
  void integer_sub(int dst, int a, const Xbyak::Operand& b);
  void scale(int dst, int a, int exponent);              // a * 2^exponent, rounded once; AVX-512 only
  void take_nan(int dst, int from, int temporary);       // dst = from where from is NaN; clobbers `temporary`, or k2

  // A full vector of equal constants in the kernel's pool (rip-relative), made once per value.
  Xbyak::Address constant(double value);
  Xbyak::Address constant_bits(uint64_t bits);            // of one element
  Xbyak::Address pool(const std::vector<uint8_t>& bytes); // any 64-byte aligned data
  void emit_pool();                                       // after the kernel's last instruction

 private:
  int place(std::vector<uint8_t> bytes);                  // number of the pool's entry of this content
  Xbyak::Address address(int entry) const;

  struct Entry {
    std::vector<uint8_t> bytes;
    Xbyak::Label label;
  };
  Xbyak::CodeGenerator& code_;
  Isa isa_;
  Scalar type_;
  int bytes_;
  int scalar_;
  Xbyak::Xmm registers_[32];                             // building them anew shows in compile times
  std::map<std::vector<uint8_t>, int> index_;
  std::map<uint64_t, int> constants_;                    // epilogues ask for the same constants in every vector
  std::vector<Entry*> entries_;

 public:
  ~VectorUnit();
};

}  // namespace strop

#endif  // STROP_X86
