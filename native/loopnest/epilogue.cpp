// Evaluates an epilogue in registers. The postfix program becomes a tree again, so that of two arguments the one that
// needs more registers goes first (Sethi and Ullman, 1970): the need grows with the logarithm of the program's length.
//
// The same walk without an emitter counts the registers, so the count is exact.
#include "epilogue.hpp"

#if STROP_X86

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "functions.hpp"

namespace strop {

namespace {

struct Node {
  EpilogueOp step;
  int left = -1, right = -1;  // of a unary operation, left alone
  int need = 0;               // registers, roughly: it only decides the order

  bool is_leaf() const { return left < 0; }
  bool is_number() const { return step.op == Op::number; }
};

int temporaries(Op op) { return op == Op::relu || op == Op::min || op == Op::max ? 1 : function_temporaries(op); }

// The nodes of the program, the root last. Operations on numbers alone are done here.
std::vector<Node> tree(const std::vector<EpilogueOp>& program) {
  std::vector<Node> nodes;
  std::vector<int> stack;
  const auto pop = [&stack] {
    if (stack.empty()) throw std::logic_error("epilogue: the stack is empty");
    const int top = stack.back();
    stack.pop_back();
    return top;
  };
  for (const EpilogueOp& step : program) {
    Node node{step};
    if (step.op != Op::x && step.op != Op::operand && step.op != Op::number) {
      if (takes_two(step.op)) node.right = pop();
      node.left = pop();
      const Node& a = nodes[node.left];
      const Node* b = node.right < 0 ? nullptr : &nodes[node.right];
      if (a.is_number() && (!b || b->is_number())) {
        const double value = apply_epilogue(step.op, a.step.number, b ? b->step.number : 0);
        node = Node{EpilogueOp{Op::number, 0, value}};
      } else {
        const int second = b ? b->need : 0;
        const bool both = a.need > 0 && a.need == second;
        node.need = std::max({a.need + both, second, 1 + temporaries(step.op)});
      }
    }
    stack.push_back(static_cast<int>(nodes.size()));
    nodes.push_back(node);
  }
  pop();
  if (!stack.empty()) throw std::logic_error("epilogue: values are left on the stack");
  return nodes;
}

class Evaluator {
 public:
  using LoadOperand = std::function<void(int dst, int operand)>;

  // Without a unit nothing is emitted.
  Evaluator(const std::vector<EpilogueOp>& program, int x, std::vector<int> free, VectorUnit* unit,
            const LoadOperand* load_operand)
      : nodes_(tree(program)), x_(x), free_(std::move(free)), unit_(unit), load_operand_(load_operand) {
    count_uses(static_cast<int>(nodes_.size()) - 1);
    x_is_free_ = uses_ == 0;
  }

  // Leaves the program's value in x; returns how many of the free registers were ever in use at once.
  int run() {
    const Value result = evaluate(static_cast<int>(nodes_.size()) - 1);
    if (result.kind == Value::number) {
      emit([&] { unit_->load(x_, unit_->constant(result.constant), unit_->lanes(), -1); });
    } else if (result.kind == Value::operand) {
      emit([&] { (*load_operand_)(x_, result.index); });
    } else {
      emit([&] { unit_->move(x_, result.index); });
    }
    return peak_;
  }

 private:
  struct Value {
    enum Kind { number, operand, kept, owned } kind;  // kept: x, to be used again; owned: may be overwritten
    int index = 0;                                    // register or operand
    double constant = 0;
  };

  template <class Emission>
  void emit(Emission emission) {
    if (unit_) emission();
  }

  void count_uses(int at) {  // folding may have dropped some of the program's x
    const Node& node = nodes_[at];
    if (node.step.op == Op::x) ++uses_;
    if (node.left >= 0) count_uses(node.left);
    if (node.right >= 0) count_uses(node.right);
  }

  int allocate() {
    if (x_is_free_) {
      x_is_free_ = false;
      return x_;
    }
    if (free_.empty()) throw std::logic_error("epilogue: too few free registers");
    peak_ = std::max(peak_, ++in_use_);
    const int taken = free_.back();
    free_.pop_back();
    return taken;
  }

  void release(int index) {
    if (index == x_) {
      x_is_free_ = true;
    } else {
      free_.push_back(index);
      --in_use_;
    }
  }

  void release(const Value& value) {
    if (value.kind == Value::owned) release(value.index);
  }

  // A leaf stays where it is until the operation that reads it; anything else comes in a register of its own.
  Value evaluate(int at) {
    const Node& node = nodes_[at];
    if (node.step.op == Op::number) return {Value::number, 0, node.step.number};
    if (node.step.op == Op::operand) return {Value::operand, node.step.operand};
    if (node.step.op == Op::x) return {--uses_ == 0 ? Value::owned : Value::kept, x_};
    if (node.right < 0) return unary(node.step.op, evaluate(node.left));
    const Node &left = nodes_[node.left], &right = nodes_[node.right];
    const bool right_first = left.is_leaf() || (!right.is_leaf() && right.need > left.need);
    Value a, b;
    if (right_first) {
      b = evaluate(node.right);
      a = evaluate(node.left);
    } else {
      a = evaluate(node.left);
      b = evaluate(node.right);
    }
    return binary(node.step.op, a, b);
  }

  void bring_to_register(Value& value) {
    if (value.kind == Value::kept || value.kind == Value::owned) return;
    const int dst = allocate();
    emit([&] {
      if (value.kind == Value::number)
        unit_->load(dst, unit_->constant(value.constant), unit_->lanes(), -1);
      else
        (*load_operand_)(dst, value.index);
    });
    value = {Value::owned, dst};
  }

  void make_owned(Value& value) {
    bring_to_register(value);
    if (value.kind == Value::owned) return;
    const int copy = allocate();
    emit([&] { unit_->move(copy, value.index); });
    value = {Value::owned, copy};
  }

  Value unary(Op op, Value a) {
    if (op == Op::relu) return bounded(Op::max, a, 0);
    if (op == Op::neg) {
      bring_to_register(a);
      const int dst = a.kind == Value::owned ? a.index : allocate();
      emit([&] {
        const bool single = unit_->type() == Scalar::f32;
        unit_->bits_xor(dst, a.index, unit_->constant_bits(single ? uint64_t{1} << 31 : uint64_t{1} << 63));
      });
      return {Value::owned, dst};
    }
    make_owned(a);
    std::vector<int> clobbered;
    for (int i = function_temporaries(op); i > 0; --i) clobbered.push_back(allocate());
    emit([&] { emit_function(*unit_, op, a.index, clobbered); });
    for (int index : clobbered) release(index);
    return a;
  }

  Value binary(Op op, Value a, Value b) {
    const bool commutes = op != Op::sub && op != Op::div;
    if (a.kind == Value::number && commutes) std::swap(a, b);
    if (op == Op::min || op == Op::max)
      return b.kind == Value::number && !std::isnan(b.constant) ? bounded(op, a, b.constant) : extreme(op, a, b);

    bring_to_register(a);
    if (b.kind != Value::number) bring_to_register(b);
    const int dst = a.kind == Value::owned ? a.index : b.kind == Value::owned ? b.index : allocate();
    emit([&] {
      if (b.kind == Value::number)
        arithmetic(op, dst, a.index, unit_->constant(b.constant));
      else
        arithmetic(op, dst, a.index, unit_->reg(b.index));
    });
    if (b.kind == Value::owned && b.index != dst) release(b);
    return {Value::owned, dst};
  }

  void arithmetic(Op op, int dst, int a, const Xbyak::Operand& b) {
    switch (op) {
      case Op::add:
        return unit_->add(dst, a, b);
      case Op::sub:
        return unit_->sub(dst, a, b);
      case Op::mul:
        return unit_->mul(dst, a, b);
      case Op::div:
        return unit_->div(dst, a, b);
      case Op::min:
        return unit_->min(dst, a, b);
      case Op::max:
        return unit_->max(dst, a, b);
      default:
        throw std::logic_error("epilogue: not arithmetic");
    }
  }

  // min or max with a number: the instruction gives its second source when unordered, so NaN in `a` passes through.
  Value bounded(Op op, Value a, double bound) {
    bring_to_register(a);
    const int limit = allocate();
    const int dst = a.kind == Value::owned ? a.index : limit;
    emit([&] {
      if (bound == 0)
        unit_->zero(limit);
      else
        unit_->load(limit, unit_->constant(bound), unit_->lanes(), -1);
      arithmetic(op, dst, limit, unit_->reg(a.index));
    });
    if (dst != limit) release(limit);
    return {Value::owned, dst};
  }

  // min or max of two vectors: the instruction passes NaN of `b`; NaN of `a` is put in afterwards.
  Value extreme(Op op, Value a, Value b) {
    bring_to_register(a);
    bring_to_register(b);
    if (b.kind != Value::owned) std::swap(a, b);
    const int dst = b.kind == Value::owned ? b.index : allocate();
    const int temporary = allocate();
    emit([&] {
      arithmetic(op, dst, a.index, unit_->reg(b.index));
      unit_->take_nan(dst, a.index, temporary);
    });
    release(temporary);
    if (a.kind == Value::owned && a.index != dst) release(a);
    return {Value::owned, dst};
  }

  std::vector<Node> nodes_;
  int x_;
  std::vector<int> free_;
  VectorUnit* unit_;
  const LoadOperand* load_operand_;
  int uses_ = 0;
  int in_use_ = 0;
  int peak_ = 0;
  bool x_is_free_ = false;
};

}  // namespace

int epilogue_registers(const std::vector<EpilogueOp>& program, Isa) {
  constexpr int plenty = 64;
  std::vector<int> free(plenty);
  for (int i = 0; i < plenty; ++i) free[i] = i;
  return Evaluator(program, plenty, std::move(free), nullptr, nullptr).run();
}

void emit_epilogue(VectorUnit& unit, const std::vector<EpilogueOp>& program, int x, const std::vector<int>& free,
                   const std::function<void(int dst, int operand)>& load_operand) {
  Evaluator(program, x, free, &unit, &load_operand).run();
}

}  // namespace strop

#endif  // STROP_X86
