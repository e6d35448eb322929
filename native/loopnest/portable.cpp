// The portable path: the nest in plain C++, one element at a time, in the order the nest says. Slow, right for every
// nest, and the same on every CPU.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "epilogue.hpp"
#include "kernel.hpp"

namespace strop {
namespace {

// The extents that a loop's iterations cover, for the extent of its axis that reaches it.
class Iterations {
 public:
  Iterations(const Loop& loop, int64_t extent, int64_t step) : extent_(extent), step_(step) {
    if (!loop.pieces.empty()) {
      int64_t sum = 0;
      for (int64_t piece : loop.pieces) sum += piece;
      if (sum == extent) pieces_ = &loop.pieces;
    }
    if (pieces_ != nullptr) {
      count_ = static_cast<int64_t>(pieces_->size());
      return;
    }
    count_ = (extent + step - 1) / step;
    if (loop.balanced) {
      step_ = (extent + count_ - 1) / count_;
      large_ = extent - count_ * (step_ - 1);
      small_ = step_ - 1;
    }
  }

  int64_t count() const { return count_; }
  bool pieced() const { return pieces_ != nullptr; }
  int64_t size(int64_t i, int64_t start) const {
    if (pieces_ != nullptr) return (*pieces_)[i];
    if (large_ >= 0) return i < large_ ? step_ : small_;
    return std::min(step_, extent_ - start);
  }

 private:
  int64_t extent_, step_;
  int64_t count_ = 0, large_ = -1, small_ = 0;
  const std::vector<int64_t>* pieces_ = nullptr;
};

template <typename T, Reduce R>
T reduce(T a, T b) {
  if constexpr (R == Reduce::add) return a + b;
  if constexpr (R == Reduce::max) return a > b || std::isnan(a) ? a : b;
  return a < b || std::isnan(a) ? a : b;
}

template <typename T, Reduce R>
constexpr T identity() {
  if constexpr (R == Reduce::add) return T{0};
  constexpr T infinity = std::numeric_limits<T>::infinity();
  return R == Reduce::max ? -infinity : infinity;
}

template <typename T, Reduce R, Combine C, int Inputs>
class Walk {
 public:
  Walk(const Spec& spec, const Arguments& arguments)
      : spec_(spec),
        arguments_(arguments),
        extent_(spec.sizes),
        start_(spec.sizes.size(), 0),
        operands_(spec.extras.size()) {
    const size_t loops = spec.loops.size();
    std::vector<char> steered(loops, 0);
    partner_.assign(loops, -1);
    for (size_t l = 0; l < loops; ++l) {
      step_.push_back(spec.loops[l].step);
      for (size_t inner = l + 1; inner < loops && partner_[l] < 0; ++inner)
        if (spec.loops[inner].axis == spec.loops[l].partner) partner_[l] = static_cast<int>(inner);
      if (partner_[l] >= 0) steered[partner_[l]] = 1;
    }
    for (size_t axis = 0; axis < spec.sizes.size(); ++axis) {
      bool ended = false;  // by a loop of step 1; else what is left of the axis runs innermost
      for (size_t l = 0; l < loops; ++l) {
        const Loop& loop = spec.loops[l];
        if (loop.axis == static_cast<int>(axis) && loop.step == 1 && loop.pieces.empty() && !steered[l]) ended = true;
      }
      if (!ended) remaining_.push_back(static_cast<int>(axis));
    }
  }

  void run() {
    if (!spec_.accumulate) each_output([&] { *output() = identity<T, R>(); });
    visit(0, [&](size_t depth) { return innermost(depth); }, false);
    if (!spec_.epilogue.empty()) each_output([&] { *output() = finish(*output()); });
  }

 private:
  T* output() const {
    char* address = static_cast<char*>(arguments_.output);
    for (size_t axis = 0; axis < start_.size(); ++axis) address += start_[axis] * spec_.output.stride[axis];
    return reinterpret_cast<T*>(address);
  }

  const char* input(int which) const {
    const char* address = static_cast<const char*>(arguments_.inputs[which]);
    for (size_t axis = 0; axis < start_.size(); ++axis) address += start_[axis] * spec_.inputs[which].stride[axis];
    return address;
  }

  T finish(T x) {
    for (size_t e = 0; e < operands_.size(); ++e) {
      const char* address = static_cast<const char*>(arguments_.extras[e]);
      for (size_t axis = 0; axis < start_.size(); ++axis) address += start_[axis] * spec_.extras[e].stride[axis];
      operands_[e] = *reinterpret_cast<const T*>(address);
    }
    return static_cast<T>(run_epilogue(spec_.epilogue, spec_.type, x, operands_.data()));
  }

  // Every output element of the range, once: the same loops without those over reduced axes.
  template <typename Body>
  void each_output(const Body& body) {
    visit(0, [&](size_t depth) {
      if (depth < spec_.loops.size()) return false;
      rest(0, true, body);
      return true;
    }, true);
  }

  // The axes that no loop of step 1 ends, in order.
  template <typename Body>
  void rest(size_t next, bool outputs_only, const Body& body) {
    if (next == remaining_.size()) return body();
    const int axis = remaining_[next];
    if (outputs_only && !spec_.is_output(axis)) return rest(next + 1, outputs_only, body);
    const int64_t extent = extent_[axis];
    for (int64_t i = 0; i < extent; ++i, ++start_[axis]) rest(next + 1, outputs_only, body);
    start_[axis] -= extent;
  }

  // Runs loops from `depth` on; `leaf` says true where it has done what is left itself.
  template <typename Leaf>
  void visit(size_t depth, const Leaf& leaf, bool outputs_only) {
    if (leaf(depth)) return;
    const Loop& loop = spec_.loops[depth];
    if (outputs_only && !spec_.is_output(loop.axis)) return visit(depth + 1, leaf, outputs_only);
    int64_t& extent = extent_[loop.axis];
    int64_t& start = start_[loop.axis];
    const int64_t outer_extent = extent, outer_start = start;
    const Iterations iterations(loop, extent, step_[depth]);
    const int partner = iterations.pieced() ? partner_[depth] : -1;
    const int64_t partner_step = partner >= 0 ? step_[partner] : 0;
    for (int64_t i = 0; i < iterations.count(); ++i) {
      extent = iterations.size(i, start - outer_start);
      if (!loop.parallel || (i >= arguments_.begin && i < arguments_.end)) {
        if (partner >= 0) step_[partner] = loop.partner_steps[i];
        visit(depth + 1, leaf, outputs_only);
      }
      start += extent;
    }
    if (partner >= 0) step_[partner] = partner_step;
    extent = outer_extent;
    start = outer_start;
  }

  // The last loop (or a single element), without recursion.
  bool innermost(size_t depth) {
    const size_t loops = spec_.loops.size();
    if (depth == loops) {
      rest(0, false, [&] { row(0, 1); });
      return true;
    }
    const Loop& loop = spec_.loops[depth];
    if (depth + 1 != loops || step_[depth] != 1 || loop.parallel || !loop.pieces.empty() || !remaining_.empty())
      return false;
    row(loop.axis, extent_[loop.axis]);
    return true;
  }

  void row(int axis, int64_t count) {
    const char* a = input(0);
    const char* b = Inputs == 2 ? input(1) : nullptr;
    char* c = reinterpret_cast<char*>(output());
    if (spec_.sizes.empty()) axis = -1;
    const int64_t a_step = axis < 0 ? 0 : spec_.inputs[0].stride[axis];
    const int64_t b_step = axis < 0 || Inputs < 2 ? 0 : spec_.inputs[1].stride[axis];
    const int64_t c_step = axis < 0 ? 0 : spec_.output.stride[axis];
    if (axis >= 0 && !spec_.is_output(axis)) {
      T sum = *reinterpret_cast<T*>(c);
      for (int64_t i = 0; i < count; ++i, a += a_step, b += b_step) sum = reduce<T, R>(sum, term(a, b));
      *reinterpret_cast<T*>(c) = sum;
      return;
    }
    for (int64_t i = 0; i < count; ++i, a += a_step, b += b_step, c += c_step) {
      T& element = *reinterpret_cast<T*>(c);
      element = reduce<T, R>(element, term(a, b));
    }
  }

  static T term(const char* a, const char* b) {
    const T left = *reinterpret_cast<const T*>(a);
    if constexpr (Inputs == 1) return left;
    const T right = *reinterpret_cast<const T*>(b);
    return C == Combine::mul ? left * right : left + right;
  }

  const Spec& spec_;
  const Arguments& arguments_;
  std::vector<int64_t> extent_, start_, step_;
  std::vector<int> partner_;  // the loop that each loop's pieces steer, or -1
  std::vector<int> remaining_;
  std::vector<double> operands_;
};

template <typename T, Reduce R, Combine C>
void run_typed(const Spec& spec, const Arguments& arguments) {
  if (spec.inputs.size() == 2) return Walk<T, R, C, 2>(spec, arguments).run();
  Walk<T, R, C, 1>(spec, arguments).run();
}

template <typename T, Reduce R>
void run_combined(const Spec& spec, const Arguments& arguments) {
  if (spec.combine == Combine::mul) return run_typed<T, R, Combine::mul>(spec, arguments);
  run_typed<T, R, Combine::add>(spec, arguments);
}

template <typename T>
void run_reduced(const Spec& spec, const Arguments& arguments) {
  if (spec.reduce == Reduce::add) return run_combined<T, Reduce::add>(spec, arguments);
  if (spec.reduce == Reduce::max) return run_combined<T, Reduce::max>(spec, arguments);
  run_combined<T, Reduce::min>(spec, arguments);
}

}  // namespace

void run_portable(const Spec& spec, const Arguments& arguments) {
  if (spec.type == Scalar::f32) return run_reduced<float>(spec, arguments);
  run_reduced<double>(spec, arguments);
}

}  // namespace strop
