// A compiled nest: a function in the executable arena, or the portable interpreter of the same nest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spec.hpp"

namespace strop {

// What a kernel reads at its start. Pointers are to the element at index zero of each tensor.
struct Arguments {
  void* output;
  const void* inputs[2];
  const void* const* extras;  // operands of the epilogue
  void* scratch;              // Kernel::scratch_bytes, 64-byte aligned, one per thread
  int64_t begin, end;         // iterations of the parallel loop to run; ignored without one
};

using Function = void (*)(const Arguments*);

class Kernel {
 public:
  explicit Kernel(Spec spec);  // compiles; throws SpecError
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void run(const Arguments& arguments) const;  // one thread, the range given

  const Spec& spec() const { return spec_; }
  int64_t parallel_iterations() const { return parallel_iterations_; }  // 0: no parallel loop
  size_t scratch_bytes() const { return scratch_bytes_; }
  const uint8_t* code() const { return code_; }  // executable view; null for the portable path
  size_t code_bytes() const { return code_bytes_; }
  double compile_seconds() const { return compile_seconds_; }
  int64_t arithmetic_instructions() const { return arithmetic_instructions_; }  // emitted multiply-adds

 private:
  Spec spec_;
  const uint8_t* code_ = nullptr;
  size_t code_bytes_ = 0;
  size_t scratch_bytes_ = 0;
  int64_t parallel_iterations_ = 0;
  int64_t arithmetic_instructions_ = 0;
  double compile_seconds_ = 0;
};

// Runs the kernel on `threads` threads of the shared pool (threads.cpp); with no parallel loop, on this one.
void run_parallel(const Kernel& kernel, const Arguments& arguments, int threads);

// The portable path: the same nest in plain C++, one element at a time, in the nest's order (portable.cpp).
void run_portable(const Spec& spec, const Arguments& arguments);

}  // namespace strop
