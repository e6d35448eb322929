// Reads a Spec by the C API: a binding library's casters would cost more than generating a small kernel.
#include "spec_from_python.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace nb = nanobind;

namespace strop {
namespace {

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  nb::raise_python_error();
}

// The items of a list or tuple, borrowed.
class Items {
 public:
  explicit Items(PyObject* sequence) : list_(PySequence_Fast(sequence, "a list or tuple is expected")) {
    if (list_ == nullptr) nb::raise_python_error();
  }
  ~Items() { Py_DECREF(list_); }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;
  Py_ssize_t size() const { return PySequence_Fast_GET_SIZE(list_); }
  PyObject* operator[](Py_ssize_t i) const { return PySequence_Fast_GET_ITEM(list_, i); }
  void expect(Py_ssize_t least, Py_ssize_t most, const char* what) const {
    if (size() < least || size() > most) raise(PyExc_ValueError, std::string(what) + ": wrong number of items");
  }

 private:
  PyObject* list_;
};

int64_t integer(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return value;
}

int small(PyObject* object) {
  const int64_t value = integer(object);
  if (value != static_cast<int>(value)) raise(PyExc_OverflowError, "an index or factor is out of range");
  return static_cast<int>(value);
}

bool truth(PyObject* object) {
  const int value = PyObject_IsTrue(object);
  if (value < 0) nb::raise_python_error();
  return value != 0;
}

double real(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
  return value;
}

template <typename Number>
std::vector<Number> numbers(PyObject* sequence) {
  const Items items(sequence);
  std::vector<Number> values(static_cast<size_t>(items.size()));
  for (Py_ssize_t i = 0; i < items.size(); ++i)
    values[i] = sizeof(Number) == 4 ? static_cast<Number>(small(items[i])) : static_cast<Number>(integer(items[i]));
  return values;
}

template <typename Value, size_t N>
Value word(nb::handle text, const char* what, const std::array<std::pair<const char*, Value>, N>& words) {
  const char* spelled = PyUnicode_AsUTF8(text.ptr());
  if (spelled == nullptr) nb::raise_python_error();
  for (const auto& [name, value] : words)
    if (std::strcmp(name, spelled) == 0) return value;
  raise(PyExc_ValueError, std::string("'") + spelled + "' is no " + what);
}

constexpr std::array<std::pair<const char*, Op>, 15> kOps{{{"x", Op::x},
                                                           {"operand", Op::operand},
                                                           {"number", Op::number},
                                                           {"add", Op::add},
                                                           {"sub", Op::sub},
                                                           {"mul", Op::mul},
                                                           {"div", Op::div},
                                                           {"min", Op::min},
                                                           {"max", Op::max},
                                                           {"neg", Op::neg},
                                                           {"relu", Op::relu},
                                                           {"gelu", Op::gelu},
                                                           {"tanh", Op::tanh},
                                                           {"exp", Op::exp},
                                                           {"sigmoid", Op::sigmoid}}};

Tensor tensor(PyObject* strides, size_t axes) {
  Tensor read{numbers<int64_t>(strides)};
  if (read.stride.size() != axes) raise(PyExc_ValueError, "a tensor needs one stride for each axis");
  return read;
}

EpilogueOp epilogue_op(PyObject* object, size_t extras) {
  const Items items(object);
  items.expect(1, 2, "an epilogue's operation");
  EpilogueOp read{word(nb::handle(items[0]), "operation of an epilogue", kOps)};
  const bool has_value = read.op == Op::operand || read.op == Op::number;
  if (has_value != (items.size() == 2)) raise(PyExc_ValueError, "an epilogue's operation: wrong number of items");
  if (read.op == Op::number) read.number = real(items[1]);
  if (read.op == Op::operand) {
    read.operand = small(items[1]);
    if (read.operand < 0 || static_cast<size_t>(read.operand) >= extras)
      raise(PyExc_ValueError, "the epilogue names an operand that isn't there");
  }
  return read;
}

// A stack machine's program must leave one value and never take from an empty stack.
void check_stack(const std::vector<EpilogueOp>& program) {
  int depth = 0;
  for (const EpilogueOp& op : program) {
    const bool pushes = op.op == Op::x || op.op == Op::operand || op.op == Op::number;
    const bool joins = op.op >= Op::add && op.op <= Op::max;
    if (depth < (pushes ? 0 : joins ? 2 : 1)) raise(PyExc_ValueError, "the epilogue takes from an empty stack");
    depth += pushes ? 1 : joins ? -1 : 0;
  }
  if (!program.empty() && depth != 1) raise(PyExc_ValueError, "the epilogue must leave one value");
}

Loop loop(PyObject* object, int axes) {
  const Items items(object);
  items.expect(10, 10, "a loop");
  Loop read;
  read.axis = small(items[0]);
  read.step = integer(items[1]);
  read.balanced = truth(items[2]);
  read.pieces = numbers<int64_t>(items[3]);
  read.partner = items[4] == Py_None ? -1 : small(items[4]);
  read.partner_steps = numbers<int64_t>(items[5]);
  read.unroll = small(items[6]);
  read.parallel = truth(items[7]);
  read.pack = numbers<int>(items[8]);
  const Items prefetch(items[9]);
  for (Py_ssize_t i = 0; i < prefetch.size(); ++i) {
    const Items pair(prefetch[i]);
    pair.expect(2, 2, "a prefetch");
    read.prefetch.push_back({small(pair[0]), integer(pair[1])});
  }
  if (read.axis < 0 || read.axis >= axes) raise(PyExc_ValueError, "a loop's axis isn't there");
  if (read.step < 1 || read.unroll < 1) raise(PyExc_ValueError, "a loop's step and unroll are 1 or more");
  for (int64_t piece : read.pieces)
    if (piece < 1) raise(PyExc_ValueError, "a loop's pieces are 1 or more");
  for (int64_t step : read.partner_steps)
    if (step < 1) raise(PyExc_ValueError, "a partner's steps are 1 or more");
  if (read.partner >= 0 && read.partner_steps.size() != read.pieces.size())
    raise(PyExc_ValueError, "a loop with a partner gives one partner step for each piece");
  return read;
}

}  // namespace

Scalar read_scalar(nb::handle dtype) {
  static constexpr std::array<std::pair<const char*, Scalar>, 2> kTypes{
      {{"float32", Scalar::f32}, {"float64", Scalar::f64}}};
  return word(dtype, "element type: float32 or float64", kTypes);
}

Spec read_problem(nb::handle dtype, nb::handle reduce, nb::handle combine, bool accumulate, nb::handle sizes,
                  nb::handle output_axis, nb::handle inputs, nb::handle output, nb::handle extras,
                  nb::handle epilogue) {
  static constexpr std::array<std::pair<const char*, Reduce>, 4> kReductions{
      {{"+", Reduce::add}, {"add", Reduce::add}, {"max", Reduce::max}, {"min", Reduce::min}}};
  static constexpr std::array<std::pair<const char*, Combine>, 4> kCombinations{
      {{"*", Combine::mul}, {"mul", Combine::mul}, {"+", Combine::add}, {"add", Combine::add}}};
  Spec spec;
  spec.type = read_scalar(dtype);
  spec.reduce = word(reduce, "reduction: +, max or min", kReductions);
  spec.combine = word(combine, "combination: * or +", kCombinations);
  spec.accumulate = accumulate;
  spec.sizes = numbers<int64_t>(sizes.ptr());
  const size_t axes = spec.sizes.size();
  for (int64_t size : spec.sizes)
    if (size < 1) raise(PyExc_ValueError, "the extent of an axis is 1 or more");
  const Items is_output(output_axis.ptr());
  is_output.expect(static_cast<Py_ssize_t>(axes), static_cast<Py_ssize_t>(axes), "output_axis");
  for (Py_ssize_t i = 0; i < is_output.size(); ++i) spec.output_axis.push_back(truth(is_output[i]) ? 1 : 0);
  const Items operands(inputs.ptr());
  operands.expect(1, 2, "inputs");
  for (Py_ssize_t i = 0; i < operands.size(); ++i) spec.inputs.push_back(tensor(operands[i], axes));
  spec.output = tensor(output.ptr(), axes);
  const Items more(extras.ptr());
  for (Py_ssize_t i = 0; i < more.size(); ++i) spec.extras.push_back(tensor(more[i], axes));
  const Items program(epilogue.ptr());
  for (Py_ssize_t i = 0; i < program.size(); ++i)
    spec.epilogue.push_back(epilogue_op(program[i], spec.extras.size()));
  check_stack(spec.epilogue);
  for (size_t axis = 0; axis < axes; ++axis) {
    if (spec.output_axis[axis]) continue;
    if (spec.output.stride[axis] != 0) raise(PyExc_ValueError, "the output has a stride along a reduced axis");
    for (const Tensor& extra : spec.extras)
      if (extra.stride[axis] != 0) raise(PyExc_ValueError, "an epilogue operand has a stride along a reduced axis");
  }
  return spec;
}

void read_loops(Spec& spec, nb::handle loops) {
  const Items items(loops.ptr());
  for (Py_ssize_t i = 0; i < items.size(); ++i)
    spec.loops.push_back(loop(items[i], static_cast<int>(spec.sizes.size())));
  for (size_t outer = 0; outer < spec.loops.size(); ++outer) {
    bool there = spec.loops[outer].partner < 0;
    for (size_t inner = outer + 1; inner < spec.loops.size(); ++inner)
      there = there || spec.loops[inner].axis == spec.loops[outer].partner;
    if (!there) raise(PyExc_ValueError, "a loop's partner is the axis of a loop inside it");
  }
}

}  // namespace strop
