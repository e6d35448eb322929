#include "kernel.hpp"

#include <chrono>
#include <memory>

#include "arena.hpp"
#include "isa.hpp"
#if STROP_X86
#include "nest_emitter.hpp"
#endif

namespace strop {

namespace {

int64_t iterations_of(const Spec& spec) {
  const Loop& loop = spec.loops[0];
  if (!loop.parallel) return 0;
  if (!loop.pieces.empty()) return static_cast<int64_t>(loop.pieces.size());
  return (spec.sizes[loop.axis] + loop.step - 1) / loop.step;
}

#if STROP_X86
// Code is made in ordinary memory, kept from kernel to kernel, and copied to the arena when it is whole.
constexpr size_t kMostCode = 4u << 20;

// Aligned as the arena is, so that what is aligned here is aligned there.
uint8_t* workbench() {
  constexpr size_t kAlignment = 64;
  thread_local std::unique_ptr<uint8_t[]> bytes(new uint8_t[kMostCode + kAlignment]);
  return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(bytes.get()) + kAlignment - 1) & ~(kAlignment - 1));
}
#endif

}  // namespace

Kernel::Kernel(Spec spec) : spec_(std::move(spec)) {
  const auto start = std::chrono::steady_clock::now();
  parallel_iterations_ = iterations_of(spec_);
#if STROP_X86
  if (spec_.isa != Isa::portable) {
    if (!isa_supported(spec_.isa)) throw SpecError(std::string("this CPU has no ") + isa_name(spec_.isa));
    try {
      Xbyak::CodeGenerator generator(kMostCode, workbench());
      NestEmitter emitter(spec_, generator);
      emitter.emit();
      generator.ready();
      code_bytes_ = generator.getSize();
      code_ = arena_install(generator.getCode(), code_bytes_);
      scratch_bytes_ = emitter.scratch_bytes();
      arithmetic_instructions_ = emitter.arithmetic_instructions();
    } catch (const Xbyak::Error& error) {
      if (static_cast<int>(error) == Xbyak::ERR_CODE_IS_TOO_BIG)
        throw SpecError("the nest needs more than 4 MiB of code: it splits or unrolls too much");
      throw SpecError(std::string("the code generator failed: ") + error.what());
    }
  }
#else
  if (spec_.isa != Isa::portable) throw SpecError("this build has no code generator for this CPU");
#endif
  compile_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Kernel::~Kernel() {
  if (code_) arena_release(code_, code_bytes_);
}

void Kernel::run(const Arguments& arguments) const {
  if (code_)
    reinterpret_cast<Function>(const_cast<uint8_t*>(code_))(&arguments);
  else
    run_portable(spec_, arguments);
}

}  // namespace strop
