// Checks and times kernels of one problem on memory of its own. The worker process has no NumPy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "reference.hpp"
#include "spec.hpp"
#include "tensor_buffer.hpp"

namespace strop {

struct Check {
  bool right = false;            // every value compared is within its tolerance and none was left unwritten
  double worst = 0;              // the largest error over the error allowed
  std::string detail;            // one sentence on what is wrong, or nothing
  bool inputs_unchanged = false;
  bool fences_whole = false;     // nothing was written outside the output's elements
};

class Evaluator {
 public:
  // `alignments` has a class for each input, the output and each epilogue operand (see TensorBuffer), in that order.
  // Throws std::bad_alloc.
  Evaluator(Spec problem, const std::vector<int>& alignments, uint64_t seed, Guard guard);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Runs the kernel once on a poisoned output (an accumulating one: on the given start).
  Check check(const Kernel& kernel, int threads);

  // Seconds per call, one row of samples for each kernel. In each round each kernel is called once to warm up and
  // then for `sample_seconds`, at least twice; with `rotate` every round begins with another kernel.
  std::vector<std::vector<double>> time(const std::vector<const Kernel*>& kernels, int rounds, double sample_seconds,
                                        int threads, bool rotate);

  const Reference& reference() const { return reference_; }
  const Spec& problem() const { return problem_; }
  TensorBuffer& tensor(size_t which) { return *tensors_.at(which); }  // in the order of `alignments`

 private:
  struct Finding;
  template <typename T>
  void compare(Finding& finding) const;
  template <typename T>
  void compare_exactly(const Row& row, Finding& finding) const;
  template <typename T>
  void prepare_quick(std::vector<T>& centre, std::vector<T>& inverse) const;
  std::string place(int64_t offset) const;
  TensorBuffer& output() const { return *tensors_[problem_.inputs.size()]; }

  Spec problem_;
  std::vector<std::unique_ptr<TensorBuffer>> tensors_;
  std::vector<const void*> extras_;
  Arguments arguments_{};
  Reference reference_;
  std::vector<float> centre32_, inverse32_;   // of reference and tolerance, for the quick pass
  std::vector<double> centre64_, inverse64_;
};

}  // namespace strop
