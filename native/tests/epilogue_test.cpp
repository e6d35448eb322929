// Runs every epilogue function as generated code and compares it with long double arithmetic. Not part of the
// extension: build with cmake -DSTROP_NATIVE_TESTS=ON. Prints the largest errors; exits 1 where a bound is exceeded.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "loopnest/epilogue.hpp"
#include "loopnest/isa.hpp"
#include "loopnest/vector_unit.hpp"

using namespace strop;

namespace {

int failures = 0;

void check(bool good, const std::string& what) {
  if (good || ++failures > 20) return;
  std::printf("FAILED: %s\n", what.c_str());
}

// y[i] = epilogue(x[i]; operands[0][i], operands[1][i]) for i < count, a multiple of the lanes.
class VectorKernel {
 public:
  VectorKernel(const std::vector<EpilogueOp>& program, Isa isa, Scalar type) : code_(64 * 1024) {
    using namespace Xbyak::util;
    VectorUnit unit(code_, isa, type);
    const int needed = epilogue_registers(program, isa);
    const int x = unit.registers() - 1;
    // Exactly as many registers as were asked for. The others are marked, to see that they survive.
    std::vector<int> free;
    for (int i = 0; i < needed; ++i) free.push_back(unit.wide() ? x - 1 - i : i);
    if (needed > x) throw std::runtime_error("more registers than there are");
    for (int i = 0; i < x; ++i)
      if (std::find(free.begin(), free.end(), i) == free.end()) marked_.push_back(i);
    for (int i : marked_) unit.load(i, unit.constant(i + 100), unit.lanes(), -1);
    // rdi = y, rsi = x, rdx = operands, rcx = bytes; r9 = offset
    code_.xor_(r9, r9);
    unit.set_mask(kMaskLanes, x);
    Xbyak::Label loop;
    code_.L(loop);
    unit.load(x, ptr[rsi + r9], unit.lanes(), -1);
    emit_epilogue(unit, program, x, free, [&](int dst, int operand) {
      code_.mov(r8, ptr[rdx + 8 * operand]);
      unit.load(dst, ptr[r8 + r9], unit.lanes(), -1);
    });
    unit.store(ptr[rdi + r9], x, unit.lanes(), -1);
    code_.add(r9, unit.bytes());
    code_.cmp(r9, rcx);
    code_.jb(loop);
    for (size_t i = 0; i < marked_.size(); ++i) {
      unit.sub(marked_[i], marked_[i], unit.constant(marked_[i] + 100));  // zero if it survived
      unit.store(ptr[rdi + r9], marked_[i], unit.lanes(), -1);
      code_.add(r9, unit.bytes());
    }
    code_.mov(eax, (1 << kMaskLanes) - 1);
    if (unit.wide()) code_.kmovw(eax, code_.k1);
    code_.vzeroupper();
    code_.ret();
    unit.emit_pool();
    // Moved before it runs, as the arena does.
    bytes_ = code_.getSize();
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory_, code_.getCode(), bytes_);
    mprotect(memory_, bytes_, PROT_READ | PROT_EXEC);
  }
  ~VectorKernel() { munmap(memory_, bytes_); }

  template <class T>
  std::vector<T> operator()(const std::vector<T>& x, const std::vector<std::vector<T>>& operands = {}) const {
    const size_t padded = (x.size() + 15) / 16 * 16;
    std::vector<T> in = x, out(padded + marked_.size() * 64 / sizeof(T));
    in.resize(padded);
    std::vector<std::vector<T>> extras = operands;
    std::vector<const void*> pointers;
    for (auto& extra : extras) {
      extra.resize(padded);
      pointers.push_back(extra.data());
    }
    const auto call = reinterpret_cast<int (*)(void*, const void*, const void*, size_t)>(memory_);
    const int mask = call(out.data(), in.data(), pointers.data(), padded * sizeof(T));
    check(mask == (1 << kMaskLanes) - 1, "the mask was overwritten");
    check(std::all_of(out.begin() + padded, out.end(), [](T value) { return value == 0; }), "a register was overwritten");
    out.resize(x.size());
    return out;
  }

 private:
  static constexpr int kMaskLanes = 3;
  Xbyak::CodeGenerator code_;
  std::vector<int> marked_;
  void* memory_;
  size_t bytes_;
};

struct Function {
  const char* name;
  Op op;
  std::function<long double(long double)> exact;
  double bound_f32, bound_f64;  // relative error where the result is normal
};

const Function kFunctions[] = {
    {"exp", Op::exp, [](long double x) { return std::exp(x); }, 2.5e-7, 4e-16},
    {"tanh", Op::tanh, [](long double x) { return std::tanh(x); }, 5e-7, 1e-15},
    {"sigmoid", Op::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 3e-7, 5e-16},
    {"gelu", Op::gelu,
     [](long double x) {
       if (std::isinf(x)) return x > 0 ? x : 0.0L;
       return 0.5L * x * std::erfc(-x * 0.707106781186547524400844362104849L);
     },
     6e-7, 2e-15},
    {"relu", Op::relu, [](long double x) { return std::isnan(x) ? x : std::max(x, 0.0L); }, 0, 0},
    {"neg", Op::neg, [](long double x) { return -x; }, 0, 0},
};

template <class T>
std::vector<T> arguments() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x;
  std::mt19937_64 random(1);
  const double reaches[] = {1e-3, 1, 10, 40, 120, 760};
  for (double reach : reaches)
    for (int i = 0; i < 200'000; ++i) x.push_back(static_cast<T>(std::uniform_real_distribution<>(-reach, reach)(random)));
  for (int i = 0; i < 200'000; ++i) {  // every exponent
    const double exponent = std::uniform_real_distribution<>(Limits::min_exponent - 30, Limits::max_exponent)(random);
    x.push_back(static_cast<T>(std::exp2(static_cast<long double>(exponent))) * (i % 2 ? T(1) : T(-1)));
  }
  for (T value : {T(0), Limits::infinity(), Limits::max(), Limits::min(), Limits::denorm_min(), T(1)}) {
    x.push_back(value);
    x.push_back(-value);
  }
  x.push_back(Limits::quiet_NaN());
  x.push_back(-Limits::quiet_NaN());
  return x;
}

template <class T>
void compare(const Function& function, Isa isa) {
  constexpr bool single = sizeof(T) == 4;
  const std::vector<EpilogueOp> program = {{Op::x}, {function.op}};
  const std::string name = std::string(function.name) + (single ? " float32 " : " float64 ") + isa_name(isa);
  const VectorKernel kernel(program, isa, single ? Scalar::f32 : Scalar::f64);
  const std::vector<T> x = arguments<T>(), y = kernel(x);
  const long double smallest = std::numeric_limits<T>::min(), bound = single ? function.bound_f32 : function.bound_f64;
  long double worst = 0, worst_small = 0, portable = 0, at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = function.exact(x[i]);
    if (std::isnan(exact)) {
      check(std::isnan(y[i]), name + ": NaN lost");
      continue;
    }
    if (x[i] == 0 && function.op == Op::tanh) check(std::signbit(y[i]) == std::signbit(x[i]), name + ": sign of zero");
    const T rounded = static_cast<T>(exact);
    if (std::isinf(rounded) || std::isinf(y[i])) {
      // Whether the largest finite number or infinity comes out may hang on the last bit.
      const bool near = std::fabs(exact) > (1 - bound) * std::numeric_limits<T>::max();
      check(near && std::fabs(static_cast<long double>(y[i])) >= (1 - bound) * std::numeric_limits<T>::max() && (y[i] > 0) == (exact > 0),
            name + ": infinity at " + std::to_string(x[i]));
      continue;
    }
    const long double error = std::fabs(y[i] - exact);
    if (std::isnan(y[i])) check(false, name + ": NaN at " + std::to_string(x[i]));
    if (std::fabs(exact) < smallest) {
      worst_small = std::max(worst_small, error / smallest);
    } else if (error / std::fabs(exact) > worst) {
      worst = error / std::fabs(exact);
      at = x[i];
    }
    const double scalar = run_epilogue(program, single ? Scalar::f32 : Scalar::f64, x[i], nullptr);
    if (std::fabs(exact) >= smallest) portable = std::max(portable, std::fabs(scalar - exact) / std::fabs(exact));
  }
  const long double unit = std::numeric_limits<T>::epsilon();
  std::printf("%-24s registers %d  worst relative %.2Le (%.2Lf ulp) at %.8Lg  below normal %.2Le of the smallest normal  portable %.1Le\n",
              name.c_str(), epilogue_registers(program, isa), worst, worst / unit, at, worst_small, portable);
  check(worst <= bound, name + ": relative error");
  check(worst_small <= 1, name + ": error below the normal numbers");
  check(portable <= 2e-15, name + ": portable path");
}

// Programs of several steps, against the same program in double.
template <class T>
void programs(Isa isa) {
  constexpr bool single = sizeof(T) == 4;
  constexpr Scalar type = single ? Scalar::f32 : Scalar::f64;
  const EpilogueOp X{Op::x}, A{Op::operand, 0}, B{Op::operand, 1};
  const auto number = [](double value) { return EpilogueOp{Op::number, 0, value}; };
  std::vector<std::vector<EpilogueOp>> list = {
      {X},
      {A},
      {number(2)},
      {number(2), {Op::neg}, number(3), {Op::mul}},
      {X, A, {Op::add}, {Op::relu}},
      {X, X, {Op::sigmoid}, {Op::mul}},
      {X, {Op::sigmoid}, X, {Op::mul}},
      {X, X, {Op::max}},
      {X, X, {Op::sub}},
      {X, A, {Op::min}},
      {A, X, {Op::max}},
      {A, B, {Op::max}, X, {Op::min}},
      {X, number(6), {Op::min}, number(0), {Op::max}},
      {number(1), X, {Op::div}},
      {number(0.25), X, {Op::sub}},
      {X, {Op::relu}, X, {Op::relu}, {Op::add}, X, {Op::sub}},
      {X, number(0), number(0), {Op::div}, {Op::max}},
      {X, A, {Op::mul}, B, {Op::add}, {Op::gelu}, X, {Op::add}},
      {X, {Op::neg}, A, {Op::sub}, {Op::tanh}, B, X, {Op::add}, {Op::exp}, {Op::min}},
  };
  // Nested to the right, as deep as the grammar allows: the order of evaluation must keep the registers few.
  std::vector<EpilogueOp> deep;
  for (int i = 0; i < 30; ++i) deep.insert(deep.end(), {X, A, {Op::add}, B, {Op::max}});
  for (int i = 1; i < 30; ++i) deep.push_back({i % 2 ? Op::add : Op::min});
  list.push_back(deep);
  std::vector<EpilogueOp> balanced;  // 32 leaves
  const std::function<void(int)> grow = [&](int depth) {
    if (depth == 0) {
      balanced.push_back(balanced.size() % 3 == 0 ? X : A);
      return;
    }
    grow(depth - 1);
    grow(depth - 1);
    balanced.push_back({depth % 2 ? Op::sub : Op::min});
  };
  grow(5);
  list.push_back(balanced);

  std::mt19937_64 random(2);
  std::normal_distribution<> normal(0, 2);
  const size_t count = 4096;
  std::vector<T> x(count), a(count), b(count);
  for (auto* array : {&x, &a, &b})
    for (T& value : *array) value = static_cast<T>(random() % 16 == 0 ? std::nan("") : normal(random));
  for (size_t which = 0; which < list.size(); ++which) {
    const auto& program = list[which];
    const std::vector<T> y = VectorKernel(program, isa, type)(x, std::vector<std::vector<T>>{a, b});
    const std::string name = "program " + std::to_string(which) + (single ? " float32 " : " float64 ") + isa_name(isa);
    double worst = 0;
    for (size_t i = 0; i < count; ++i) {
      const double operands[] = {static_cast<double>(a[i]), static_cast<double>(b[i])};
      const double exact = run_epilogue(program, type, x[i], operands);
      check(std::isnan(exact) == std::isnan(y[i]), name + ": NaN at " + std::to_string(i));
      if (!std::isnan(exact)) worst = std::max(worst, std::fabs(y[i] - exact) / (1 + std::fabs(exact)));
    }
    // sums of a few values of size ten: some units of the type
    check(worst <= (single ? 1e-4 : 1e-13), name + ": error " + std::to_string(worst));
    if (single && isa == Isa::avx2)
      std::printf("program %zu: %zu steps, %d registers\n", which, program.size(), epilogue_registers(program, isa));
  }
}

}  // namespace

int main() {
  for (Isa isa : {Isa::avx2, Isa::avx512}) {
    if (!isa_supported(isa)) {
      std::printf("%s: not on this machine, not tested\n", isa_name(isa));
      continue;
    }
    for (const Function& function : kFunctions) {
      compare<float>(function, isa);
      compare<double>(function, isa);
    }
    programs<float>(isa);
    programs<double>(isa);
  }
  std::printf(failures ? "%d checks failed\n" : "all good\n", failures);
  return failures ? 1 : 0;
}
