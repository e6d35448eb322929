// The inner loops of the float64 reference. Sums of products, nearly all there is to do, are compiled for the vector
// units; they share nothing with the code generator.
#include "reference_rows.hpp"

#include <cmath>
#include <cstring>

#include "vectorised.hpp"

namespace strop {
namespace {

constexpr int kLanes = 8;

// value += a0 * b0 + a1 * b1 + ..., scale likewise with absolute values
template <typename T>
STROP_INLINE void scaled_rows(const double* a, const T* const* b, int64_t count, double* __restrict value,
                              double* __restrict scale) {
  const T *b0 = b[0], *b1 = b[1], *b2 = b[2], *b3 = b[3];
  const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
  for (int64_t i = 0; i < count; ++i) {
    const double t0 = a0 * static_cast<double>(b0[i]), t1 = a1 * static_cast<double>(b1[i]);
    const double t2 = a2 * static_cast<double>(b2[i]), t3 = a3 * static_cast<double>(b3[i]);
    value[i] += (t0 + t1) + (t2 + t3);
    scale[i] += (std::fabs(t0) + std::fabs(t1)) + (std::fabs(t2) + std::fabs(t3));
  }
}

// Left to itself the compiler takes the lanes of this loop apart: the vectors are spelled out.
typedef double Doubles __attribute__((vector_size(8 * kLanes)));
typedef int64_t Bits __attribute__((vector_size(8 * kLanes)));

template <typename T>
STROP_INLINE void dot(const T* a, const T* b, int64_t count, double* value, double* scale) {
  typedef T Elements __attribute__((vector_size(sizeof(T) * kLanes)));
  Doubles sums = {}, sizes = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    Elements left, right;
    std::memcpy(&left, a + i, sizeof left);
    std::memcpy(&right, b + i, sizeof right);
    const Doubles term = __builtin_convertvector(left, Doubles) * __builtin_convertvector(right, Doubles);
    sums += term;
    sizes += reinterpret_cast<Doubles>(reinterpret_cast<Bits>(term) & INT64_MAX);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    *value += sums[lane];
    *scale += sizes[lane];
  }
  for (int64_t i = whole; i < count; ++i) {
    const double term = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    *value += term;
    *scale += std::fabs(term);
  }
}

STROP_VECTORISED void add_scaled_rows(const double* a, const float* const* b, int64_t count, double* value,
                                      double* scale) {
  scaled_rows(a, b, count, value, scale);
}
STROP_VECTORISED void add_scaled_rows(const double* a, const double* const* b, int64_t count, double* value,
                                      double* scale) {
  scaled_rows(a, b, count, value, scale);
}
STROP_VECTORISED void add_dot(const float* a, const float* b, int64_t count, double* value, double* scale) {
  dot(a, b, count, value, scale);
}
STROP_VECTORISED void add_dot(const double* a, const double* b, int64_t count, double* value, double* scale) {
  dot(a, b, count, value, scale);
}

template <Reduce R>
void gather(double term, double size, double* value, double* scale) {
  if constexpr (R == Reduce::add) {
    *value += term;
    *scale += size;
    return;
  }
  const bool better = R == Reduce::max ? term > *value : term < *value;
  if (better || std::isnan(term)) *value = term;
  if (size > *scale) *scale = size;
}

template <typename T, Reduce R>
void any_line(const Spec& problem, const Line<T>& line, double* value, double* scale, int64_t output_step) {
  const bool multiplies = problem.combine == Combine::mul;
  const T* a = line.left;
  const T* b = line.right;
  for (int64_t i = 0; i < line.count; ++i, a += line.left_step, value += output_step, scale += output_step) {
    const double left = *a;
    if (b == nullptr) {
      gather<R>(left, std::fabs(left), value, scale);
      continue;
    }
    const double right = *b;
    b += line.right_step;
    const double size = multiplies ? std::fabs(left * right) : std::fabs(left) + std::fabs(right);
    gather<R>(multiplies ? left * right : left + right, size, value, scale);
  }
}

template <typename T>
void any_line(const Spec& problem, const Line<T>& line, double* value, double* scale, int64_t output_step) {
  if (problem.reduce == Reduce::add) return any_line<T, Reduce::add>(problem, line, value, scale, output_step);
  if (problem.reduce == Reduce::max) return any_line<T, Reduce::max>(problem, line, value, scale, output_step);
  any_line<T, Reduce::min>(problem, line, value, scale, output_step);
}

bool sums_products(const Spec& problem) {
  return problem.inputs.size() == 2 && problem.reduce == Reduce::add && problem.combine == Combine::mul;
}

}  // namespace

template <typename T>
void add_to_row(const Spec& problem, const Line<T>* lines, int line_count, double* value, double* scale) {
  const bool scales_right = lines->left_step == 0 && lines->right_step == 1;
  const bool scales_left = lines->left_step == 1 && lines->right_step == 0;
  if (!sums_products(problem) || !(scales_right || scales_left)) {
    for (int l = 0; l < line_count; ++l) any_line(problem, lines[l], value, scale, 1);
    return;
  }
  double factors[kLinesAtOnce] = {};  // missing lines count nothing
  const T* rows[kLinesAtOnce];
  for (int l = 0; l < kLinesAtOnce; ++l) {
    const Line<T>& line = lines[l < line_count ? l : 0];
    if (l < line_count) factors[l] = scales_right ? *line.left : *line.right;
    rows[l] = scales_right ? line.right : line.left;
  }
  add_scaled_rows(factors, rows, lines->count, value, scale);
}

template <typename T>
void reduce_line(const Spec& problem, const Line<T>& line, double* value, double* scale) {
  if (sums_products(problem) && line.left_step == 1 && line.right_step == 1)
    return add_dot(line.left, line.right, line.count, value, scale);
  any_line(problem, line, value, scale, 0);
}

template void add_to_row<float>(const Spec&, const Line<float>*, int, double*, double*);
template void add_to_row<double>(const Spec&, const Line<double>*, int, double*, double*);
template void reduce_line<float>(const Spec&, const Line<float>&, double*, double*);
template void reduce_line<double>(const Spec&, const Line<double>&, double*, double*);

}  // namespace strop
