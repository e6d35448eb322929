// strop._native.Call: the callable that runs one kernel on NumPy arrays with as little as possible in the way.
#pragma once

#include <Python.h>

namespace strop {

// Adds the type `Call` and the function `enable_vectorcall` to the module. False with a Python error set.
bool add_call_type(PyObject* module);

}  // namespace strop
