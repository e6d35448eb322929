// A core, its memory, and the program in it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cpu.hpp"
#include "elf.hpp"

namespace strop::rocket {

class Machine {
 public:
  Machine(uint64_t memory_bytes, uint64_t base, const Parameters& parameters)
      : memory_(std::make_shared<Memory>(memory_bytes, base)), cpu_(*memory_, parameters) {}

  Memory& memory() { return *memory_; }
  // Shared with accelerators, which hold it as the machine holds them: no circle.
  const std::shared_ptr<Memory>& shared_memory() { return memory_; }
  Cpu& cpu() { return cpu_; }

  void attach(std::shared_ptr<Coprocessor> coprocessor) {
    coprocessor_ = std::move(coprocessor);
    cpu_.attach(coprocessor_.get());
  }

  // Puts a program into memory (throws ElfError) and sets the pc to its entry; HTIF is where its symbols say.
  LoadedElf load(std::span<const uint8_t> file, bool protect) {
    LoadedElf loaded = load_elf(file, *memory_, protect);
    cpu_.set_host_interface(loaded.symbol("tohost"), loaded.symbol("fromhost"));
    entry_ = loaded.entry;
    global_pointer_ = loaded.symbol("__global_pointer$");
    cpu_.reset(entry_, false);
    return loaded;
  }

  // From the entry, as after reset.
  Result run(const Limits& limits, bool timed, bool profile) {
    cpu_.reset(entry_, false);
    return cpu_.run(limits, timed, profile);
  }

  // Calls a function: integer arguments in a0 to a7, floats on, the stack below `stack` (0: the end of memory).
  Result call(uint64_t address, std::span<const uint64_t> arguments, uint64_t stack, const Limits& limits, bool timed,
              bool profile) {
    cpu_.reset(address, true);
    cpu_.set_integer(1, kReturnAddress);
    cpu_.set_integer(2, (stack == 0 ? memory_->end() : stack) & ~uint64_t{15});
    cpu_.set_integer(3, global_pointer_);
    for (size_t i = 0; i < arguments.size() && i < 8; ++i) cpu_.set_integer(static_cast<int>(10 + i), arguments[i]);
    return cpu_.run(limits, timed, profile);
  }

 private:
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Coprocessor> coprocessor_;
  Cpu cpu_;
  uint64_t entry_ = 0, global_pointer_ = 0;
};

}  // namespace strop::rocket
