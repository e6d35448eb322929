// Reading Python's lists, tuples and numbers.
#pragma once
#include <nanobind/nanobind.h>

#include <vector>

namespace strop::flow {

// The length of a list or tuple. Raises TypeError for anything else.
inline Py_ssize_t size_of(nanobind::handle sequence) {
  if (!PyTuple_Check(sequence.ptr()) && !PyList_Check(sequence.ptr()))
    throw nanobind::type_error("a list or tuple is needed");
  return PySequence_Fast_GET_SIZE(sequence.ptr());
}

// An item of what `size_of` was asked about, without a bound check.
inline nanobind::handle item(nanobind::handle sequence, Py_ssize_t place) {
  return PySequence_Fast_GET_ITEM(sequence.ptr(), place);
}

inline nanobind::object tuple_of(const int* first, size_t count) {
  nanobind::object made = nanobind::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!made.is_valid()) nanobind::raise_python_error();
  for (size_t place = 0; place < count; ++place) {
    PyObject* number = PyLong_FromLong(first[place]);
    if (number == nullptr) nanobind::raise_python_error();
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(place), number);
  }
  return made;
}

inline nanobind::object tuple_of(const std::vector<int>& numbers) { return tuple_of(numbers.data(), numbers.size()); }

}  // namespace strop::flow
