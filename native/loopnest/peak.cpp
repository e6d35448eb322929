// Multiply-adds on independent chains of registers: latency 4 or 5 times two ports need ten chains, each set has more.
#include "peak.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "arena.hpp"
#include "isa.hpp"

#if STROP_X86
#include "xbyak/xbyak.h"
#endif

namespace strop {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kIterations = 2000;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <typename Probe>
double best_rate(const Probe& probe, double operations, double seconds) {
  const auto start = Clock::now();
  double best = 0;
  do {
    const auto sample = Clock::now();
    probe(kIterations);
    best = std::max(best, operations / seconds_since(sample));
  } while (seconds_since(start) < seconds);
  return best;
}

template <typename T>
double portable_peak(double seconds) {
  constexpr int kChains = 16;
  volatile T source = T{0.5};
  const T factor = source;
  std::array<T, kChains> sums{};
  const auto probe = [&](int64_t iterations) {
    for (int64_t i = 0; i < iterations; ++i)
      for (T& sum : sums) sum = sum * factor + factor;
    volatile T sink = sums[0];
    (void)sink;
  };
  return best_rate(probe, 2.0 * kChains * kIterations, seconds);
}

#if STROP_X86
// void probe(int64_t iterations): two multiply-adds on each chain per iteration; all values stay zero.
struct Loop : Xbyak::CodeGenerator {
  Loop(bool wide, Scalar type, int chains) {
    const auto reg = [&](int i) -> Xbyak::Xmm {
      if (wide) return Xbyak::Zmm(i);
      return Xbyak::Ymm(i);
    };
    const int factor = chains;
    for (int i = 0; i <= factor; ++i) vxorps(Xbyak::Xmm(i), Xbyak::Xmm(i), Xbyak::Xmm(i));
    Xbyak::Label head;
    align(64);
    L(head);
    for (int i = 0; i < 2 * chains; ++i) {
      if (type == Scalar::f32)
        vfmadd231ps(reg(i % chains), reg(factor), reg(factor));
      else
        vfmadd231pd(reg(i % chains), reg(factor), reg(factor));
    }
    dec(rdi);
    jnz(head, T_NEAR);
    vzeroupper();
    ret();
  }
};

double vector_peak(Isa isa, Scalar type, double seconds) {
  const int chains = isa == Isa::avx512 ? 24 : 12;
  Loop loop(isa == Isa::avx512, type, chains);
  const size_t bytes = loop.getSize();
  const uint8_t* code = arena_install(loop.getCode(), bytes);
  const auto probe = reinterpret_cast<void (*)(int64_t)>(reinterpret_cast<uintptr_t>(code));
  const double lanes = static_cast<double>(vector_bytes(isa)) / scalar_bytes(type);
  const double rate = best_rate(probe, 2.0 * 2 * chains * lanes * kIterations, seconds);
  arena_release(code, bytes);
  return rate;
}
#endif

}  // namespace

double measure_peak(Isa isa, Scalar type, double seconds) {
  if (!isa_supported(isa)) throw std::invalid_argument(std::string("this CPU has no ") + isa_name(isa));
#if STROP_X86
  if (isa != Isa::portable) return vector_peak(isa, type, seconds);
#endif
  return type == Scalar::f32 ? portable_peak<float>(seconds) : portable_peak<double>(seconds);
}

}  // namespace strop
