// Which instruction sets this CPU and operating system offer.
#include "isa.hpp"

#include <stdexcept>

#if STROP_X86
#include "xbyak/xbyak_util.h"
#endif

namespace strop {
namespace {

struct Offer {
  bool avx2 = false;
  bool avx512 = false;
};

// Xbyak reports a vector extension only when XGETBV says that the system saves its registers.
Offer detect() {
  Offer offer;
#if STROP_X86
  using Xbyak::util::Cpu;
  const Cpu cpu;
  offer.avx2 = cpu.has(Cpu::tAVX2) && cpu.has(Cpu::tFMA);
  offer.avx512 = offer.avx2 && cpu.has(Cpu::tAVX512F) && cpu.has(Cpu::tAVX512DQ) && cpu.has(Cpu::tAVX512BW) &&
                 cpu.has(Cpu::tAVX512VL);
#endif
  return offer;
}

}  // namespace

bool isa_supported(Isa isa) {
  static const Offer offer = detect();
  if (isa == Isa::avx512) return offer.avx512;
  if (isa == Isa::avx2) return offer.avx2;
  return true;
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> supported;
  for (Isa isa : {Isa::avx512, Isa::avx2, Isa::portable})
    if (isa_supported(isa)) supported.push_back(isa);
  return supported;
}

Isa best_isa() { return supported_isas().front(); }

const char* isa_name(Isa isa) {
  if (isa == Isa::avx512) return "avx512";
  if (isa == Isa::avx2) return "avx2";
  return "portable";
}

Isa isa_from_name(const std::string& name) {
  for (Isa isa : {Isa::avx512, Isa::avx2, Isa::portable})
    if (name == isa_name(isa)) return isa;
  throw std::invalid_argument("no instruction set is called '" + name + "': avx512, avx2 or portable");
}

// The portable path works on single elements: one register of eight bytes models it.
int vector_registers(Isa isa) { return isa == Isa::avx512 ? 32 : isa == Isa::avx2 ? 16 : 1; }

int vector_bytes(Isa isa) { return isa == Isa::avx512 ? 64 : isa == Isa::avx2 ? 32 : 8; }

}  // namespace strop
