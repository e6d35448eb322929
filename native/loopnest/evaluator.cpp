// Checking: a quick pass over rows by |value - centre| * inverse <= 1, and an exact one over the rows that fail it.
#include "evaluator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#include "quick_compare.hpp"
#include "stopwatch.hpp"

namespace strop {

struct Evaluator::Finding {
  int64_t compared = 0, wrong = 0, unwritten = 0;
  double worst = 0;
  std::string example;
};

namespace {

// Half a unit in the last place: what storing the exact value in the type may cost.
template <typename T>
double half_unit(double value) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const T magnitude = static_cast<T>(std::fabs(value));
  if (!std::isfinite(magnitude)) return 0;
  const T next = std::bit_cast<T>(std::bit_cast<Bits>(magnitude) + 1);
  return std::isfinite(next) ? (static_cast<double>(next) - static_cast<double>(magnitude)) / 2 : 0;
}

std::string number(double value, const char* format = "%.9g") {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

Evaluator::Evaluator(Spec problem, const std::vector<int>& alignments, uint64_t seed, Guard guard)
    : problem_(std::move(problem)) {
  const size_t inputs = problem_.inputs.size();
  for (size_t t = 0; t < inputs + 1 + problem_.extras.size(); ++t) {
    const Tensor& tensor = t < inputs ? problem_.inputs[t] : t == inputs ? problem_.output : problem_.extras[t - inputs - 1];
    tensors_.push_back(std::make_unique<TensorBuffer>(tensor, problem_.sizes, problem_.type, alignments.at(t), guard,
                                                      static_cast<int>(t)));
    TensorBuffer& buffer = *tensors_.back();
    if (t != inputs || problem_.accumulate) buffer.fill_random(static_cast<uint32_t>(seed * 1000003 + t));
    buffer.remember();
    if (t < inputs) arguments_.inputs[t] = buffer.zero();
    if (t > inputs) extras_.push_back(buffer.zero());
  }
  arguments_.output = output().zero();
  arguments_.extras = extras_.data();
  reference_ = make_reference(problem_, arguments_, seed);
  if (problem_.type == Scalar::f32)
    prepare_quick(centre32_, inverse32_);
  else
    prepare_quick(centre64_, inverse64_);
}

template <typename T>
void Evaluator::prepare_quick(std::vector<T>& centre, std::vector<T>& inverse) const {
  constexpr double kLargest = std::numeric_limits<T>::max();
  centre.resize(reference_.value.size());
  inverse.resize(reference_.value.size());
  for (size_t i = 0; i < reference_.value.size(); ++i) {
    const double value = reference_.value[i], error = reference_.error[i];
    // Where only the value itself will do, a quarter of a unit still tells it from its neighbours.
    const double allowed = error > 0 ? error + 2 * half_unit<T>(value) : half_unit<T>(value) / 2;
    centre[i] = static_cast<T>(value);
    inverse[i] = static_cast<T>(std::min(1 / allowed, kLargest));
  }
}

// The index of an output element, found by walking: this is for messages.
std::string Evaluator::place(int64_t offset) const {
  std::vector<int> axes;
  for (int axis = 0; axis < static_cast<int>(problem_.sizes.size()); ++axis)
    if (problem_.is_output(axis)) axes.push_back(axis);
  std::vector<int64_t> index(axes.size(), 0);
  for (;;) {
    int64_t here = 0;
    for (size_t a = 0; a < axes.size(); ++a) here += index[a] * problem_.output.stride[axes[a]];
    size_t turning = axes.size();
    if (here != offset)
      for (; turning > 0; --turning) {
        if (++index[turning - 1] < problem_.sizes[axes[turning - 1]]) break;
        index[turning - 1] = 0;
      }
    if (here == offset || turning == 0) break;
  }
  std::string text = "(";
  for (size_t a = 0; a < axes.size(); ++a) text += (a > 0 ? ", " : "") + std::to_string(index[a]);
  return text + ")";
}

template <typename T>
void Evaluator::compare_exactly(const Row& row, Finding& finding) const {
  const char* address = output().zero() + row.offset;
  for (int64_t i = 0; i < row.count; ++i, address += reference_.row_stride) {
    const T value = *reinterpret_cast<const T*>(address);
    const double expected = reference_.value[row.first + i], error = reference_.error[row.first + i];
    double excess = std::numeric_limits<double>::infinity();
    const bool unwritten = output().is_poison(address);
    if (unwritten) {
      ++finding.unwritten;
    } else {
      if (std::isinf(error) || (std::isnan(value) && std::isnan(expected)) || value == static_cast<T>(expected)) continue;
      const double distance = std::fabs(static_cast<double>(value) - expected);
      const double allowed = error > 0 ? error + half_unit<T>(expected) : 0;
      if (distance <= allowed) continue;
      if (!std::isnan(distance) && allowed > 0) excess = distance / allowed;
    }
    ++finding.wrong;
    if (!finding.example.empty() && !(excess > finding.worst)) continue;
    finding.worst = std::max(finding.worst, excess);
    finding.example = "at " + place(address - output().zero()) + (unwritten ? " nothing was written" : " it is " + number(value) +
                      ", not " + number(expected) + " ± " + number(error, "%.2g"));
  }
}

template <typename T>
void Evaluator::compare(Finding& finding) const {
  const auto& centre = [&]() -> const std::vector<T>& {
    if constexpr (sizeof(T) == 4) return centre32_;
    else return centre64_;
  }();
  const auto& inverse = [&]() -> const std::vector<T>& {
    if constexpr (sizeof(T) == 4) return inverse32_;
    else return inverse64_;
  }();
  for (const Row& row : reference_.rows) {
    const auto* values = reinterpret_cast<const T*>(output().zero() + row.offset);
    finding.compared += row.count;
    const double worst = largest_excess(values, reference_.row_stride / static_cast<int64_t>(sizeof(T)),
                                        &centre[row.first], &inverse[row.first], row.count);
    if (worst <= 1)
      finding.worst = std::max(finding.worst, worst);
    else
      compare_exactly<T>(row, finding);
  }
}

Check Evaluator::check(const Kernel& kernel, int threads) {
  output().restore();
  run_parallel(kernel, arguments_, threads);

  Check check;
  Finding finding;
  if (problem_.type == Scalar::f32)
    compare<float>(finding);
  else
    compare<double>(finding);
  if (!reference_.complete && !problem_.accumulate) finding.unwritten += output().count_poison();
  check.right = finding.wrong == 0 && finding.unwritten == 0;
  check.worst = check.right ? finding.worst : std::max(finding.worst, 1.0);
  if (finding.wrong > 0)
    check.detail = std::to_string(finding.wrong) + " of " + std::to_string(finding.compared) +
                   " values compared are wrong; " + finding.example;
  else if (finding.unwritten > 0)
    check.detail = std::to_string(finding.unwritten) + " values were not written";
  check.inputs_unchanged = true;
  for (const auto& tensor : tensors_)
    if (tensor.get() != &output() && !tensor->unchanged()) {
      check.inputs_unchanged = false;
      tensor->restore();
    }
  check.fences_whole = output().fences_unchanged() && output().gaps_unchanged();
  return check;
}

std::vector<std::vector<double>> Evaluator::time(const std::vector<const Kernel*>& kernels, int rounds,
                                                 double sample_seconds, int threads, bool rotate) {
  output().restore();
  const size_t count = kernels.size();
  std::vector<std::vector<double>> samples(count);
  std::vector<double> expected(count, 0);
  for (int round = 0; round < rounds; ++round)
    for (size_t turn = 0; turn < count; ++turn) {
      const size_t k = rotate ? (turn + static_cast<size_t>(round)) % count : turn;
      const auto call = [&] { run_parallel(*kernels[k], arguments_, threads); };
      samples[k].push_back(sample(call, sample_seconds, expected[k]));
    }
  return samples;
}

}  // namespace strop
