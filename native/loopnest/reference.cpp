// The float64 reference: rows of outputs, each by plain loops over the reduced axes, in an order that keeps the inner
// one at unit stride where the operands allow it.
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "odometer.hpp"
#include "random_bits.hpp"
#include "reference_rows.hpp"
#include "rounding.hpp"

namespace strop {
namespace {

constexpr int64_t kRow = 512;           // two rows of float64 stay in the first-level cache
constexpr int64_t kSampledRow = 256;
constexpr int64_t kSampled = 4096;      // output elements at least, unless each costs very much
constexpr int64_t kSampledRows = 24;
constexpr int64_t kFewestSampled = 256;
constexpr int64_t kOutputCost = 16;     // in multiply-adds: tolerance and epilogue

template <typename T>
class Builder {
 public:
  Builder(const Spec& problem, const Arguments& arguments) : problem_(problem), arguments_(arguments) {
    for (int axis = 0; axis < axes(); ++axis) {
      if (problem.is_output(axis)) {
        outputs_ *= problem.sizes[axis];
        if (row_ < 0 || row_preference(axis) < row_preference(row_)) row_ = axis;
      } else {
        terms_ *= problem.sizes[axis];
      }
    }
    choose_dot();
    for (int axis = 0; axis < axes(); ++axis)
      if (!problem.is_output(axis) && axis != dot_)
        reduced_.add(problem.sizes[axis], {input_stride(0, axis), input_stride(1, axis)});
  }

  Reference build(uint64_t seed, int64_t budget) {
    reference_.row_axis = row_;
    reference_.row_stride = row_ < 0 ? 0 : problem_.output.stride[row_];
    reference_.complete = outputs_ <= std::max<int64_t>(budget / std::max(terms_, kOutputCost), 1);
    if (reference_.complete)
      all_rows();
    else
      sampled_rows(seed, std::clamp(budget / terms_, kFewestSampled, kSampled));
    return std::move(reference_);
  }

 private:
  int axes() const { return static_cast<int>(problem_.sizes.size()); }
  int64_t extent(int axis) const { return axis < 0 ? 1 : problem_.sizes[axis]; }
  int64_t input_stride(int which, int axis) const {
    return axis < 0 || which >= static_cast<int>(problem_.inputs.size()) ? 0 : problem_.inputs[which].stride[axis];
  }

  // Rows along the output's densest axis.
  int64_t row_preference(int axis) const {
    if (problem_.sizes[axis] == 1) return std::numeric_limits<int64_t>::max();
    return std::abs(problem_.output.stride[axis]);
  }

  bool unit(int axis) const {
    for (size_t which = 0; which < problem_.inputs.size(); ++which) {
      const int64_t stride = input_stride(static_cast<int>(which), axis);
      if (stride != 0 && stride != static_cast<int64_t>(sizeof(T))) return false;
    }
    return true;
  }

  // Terms go to a row of outputs one for each, unless a reduced axis is longer or the only one at unit stride.
  void choose_dot() {
    const int64_t along_row = row_ >= 0 && unit(row_) ? extent(row_) : 1;
    int64_t longest = along_row;
    for (int axis = 0; axis < axes(); ++axis) {
      if (problem_.is_output(axis) || !unit(axis) || extent(axis) <= longest) continue;
      if (along_row >= 16 && extent(axis) < 4 * along_row) continue;
      dot_ = axis;
      longest = extent(axis);
    }
  }

  void all_rows() {
    reference_.value.reserve(outputs_);
    reference_.error.reserve(outputs_);
    std::vector<int64_t> index(axes(), 0);
    for (;;) {
      for (int64_t start = 0; start < extent(row_); start += kRow)
        add_row(index, start, std::min(kRow, extent(row_) - start));
      int axis = axes() - 1;
      for (; axis >= 0; --axis) {
        if (!problem_.is_output(axis) || axis == row_) continue;
        if (++index[axis] < extent(axis)) break;
        index[axis] = 0;
      }
      if (axis < 0) return;
    }
  }

  // The corners of the output, its first and last rows, then rows at random.
  void sampled_rows(uint64_t seed, int64_t wanted) {
    RandomBits random(seed);
    const int64_t count = std::min(kSampledRow, extent(row_));
    std::vector<int> outer;
    for (int axis = 0; axis < axes(); ++axis)
      if (problem_.is_output(axis) && axis != row_ && extent(axis) > 1) outer.push_back(axis);
    const int corners = 2 << std::min<size_t>(outer.size(), 3);
    const int64_t rows = std::max((wanted + count - 1) / count, std::min<int64_t>(kSampledRows, wanted));
    std::vector<int64_t> index(axes(), 0);
    for (int64_t row = 0; row < std::max<int64_t>(rows, corners); ++row) {
      const bool corner = row < corners;
      for (size_t o = 0; o < outer.size(); ++o) {
        const int64_t last = extent(outer[o]) - 1;
        index[outer[o]] = corner ? (row >> (1 + std::min<size_t>(o, 2)) & 1) * last : random.below(last + 1);
      }
      const int64_t last = extent(row_) - count;
      add_row(index, corner ? (row & 1) * last : random.below(last + 1), count);
    }
  }

  void add_row(const std::vector<int64_t>& index, int64_t start, int64_t count) {
    const char* inputs[2] = {static_cast<const char*>(arguments_.inputs[0]),
                             static_cast<const char*>(arguments_.inputs[1])};
    Row row{0, count, reference_.value.size()};
    for (int axis = 0; axis < axes(); ++axis) {
      const int64_t at = axis == row_ ? start : index[axis];
      row.offset += at * problem_.output.stride[axis];
      for (size_t which = 0; which < problem_.inputs.size(); ++which)
        inputs[which] += at * input_stride(static_cast<int>(which), axis);
    }
    start_row(row);
    if (dot_ < 0)
      add_terms(row, inputs);
    else
      reduce_terms(row, inputs);
    finish_row(row, index, start);
    reference_.rows.push_back(row);
  }

  Line<T> line(const char* const* inputs, int along, int64_t count) const {
    const auto& offsets = reduced_.offsets();
    const auto at = [&](int which) { return reinterpret_cast<const T*>(inputs[which] + offsets[which]); };
    return {at(0), problem_.inputs.size() > 1 ? at(1) : nullptr, input_stride(0, along) / item(),
            input_stride(1, along) / item(), count};
  }

  void add_terms(const Row& row, const char* const* inputs) {
    Line<T> lines[kLinesAtOnce];
    int gathered = 0;
    for (bool more = true; more;) {
      lines[gathered++] = line(inputs, row_, row.count);
      more = reduced_.next();
      if (more && gathered < kLinesAtOnce) continue;
      add_to_row(problem_, lines, gathered, &reference_.value[row.first], &reference_.error[row.first]);
      gathered = 0;
    }
  }

  void reduce_terms(const Row& row, const char* const* inputs) {
    do {
      Line<T> terms = line(inputs, dot_, extent(dot_));
      for (int64_t i = 0; i < row.count; ++i) {
        reduce_line(problem_, terms, &reference_.value[row.first + i], &reference_.error[row.first + i]);
        terms.left += input_stride(0, row_) / item();
        if (terms.right != nullptr) terms.right += input_stride(1, row_) / item();
      }
    } while (reduced_.next());
  }

  static constexpr int64_t item() { return sizeof(T); }

  // `error` holds the scale of the terms until the row is finished.
  void start_row(const Row& row) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double none = problem_.reduce == Reduce::add ? 0 : problem_.reduce == Reduce::max ? -infinity : infinity;
    reference_.value.resize(row.first + row.count, none);
    reference_.error.resize(row.first + row.count, 0);
    if (!problem_.accumulate) return;
    const char* before = static_cast<const char*>(arguments_.output) + row.offset;
    for (int64_t i = 0; i < row.count; ++i, before += reference_.row_stride) {
      reference_.value[row.first + i] = *reinterpret_cast<const T*>(before);
      reference_.error[row.first + i] = std::fabs(reference_.value[row.first + i]);
    }
  }

  void finish_row(const Row& row, const std::vector<int64_t>& index, int64_t start) {
    const int64_t terms = terms_ + (problem_.accumulate ? 1 : 0);
    std::vector<double> operands(problem_.extras.size());
    for (int64_t i = 0; i < row.count; ++i) {
      Bounded element{reference_.value[row.first + i], reduction_error(problem_, terms, reference_.error[row.first + i])};
      if (!problem_.epilogue.empty()) {
        for (size_t e = 0; e < operands.size(); ++e) {
          const char* address = static_cast<const char*>(arguments_.extras[e]);
          for (int axis = 0; axis < axes(); ++axis)
            address += (axis == row_ ? start + i : index[axis]) * problem_.extras[e].stride[axis];
          operands[e] = *reinterpret_cast<const T*>(address);
        }
        element = carry(problem_.epilogue, problem_.type, element, operands.data());
      }
      reference_.value[row.first + i] = element.value;
      reference_.error[row.first + i] = element.error;
    }
  }

  const Spec& problem_;
  const Arguments& arguments_;
  int row_ = -1, dot_ = -1;
  int64_t outputs_ = 1, terms_ = 1;
  Odometer<2> reduced_;
  Reference reference_;
};

}  // namespace

Reference make_reference(const Spec& problem, const Arguments& arguments, uint64_t seed, int64_t budget) {
  if (problem.type == Scalar::f32) return Builder<float>(problem, arguments).build(seed, budget);
  return Builder<double>(problem, arguments).build(seed, budget);
}

}  // namespace strop
