// The call path. `Call` is a plain CPython type, not a nanobind one: a vectorcall that reads NumPy's structs directly
// costs about 50 ns, typed arguments of a binding library ten times that.
//
// A call is fast when every array is exactly what `_bind` said: type, element type, shape, strides (those of
// dimensions of length 1 excepted), aligned to its element, no overlap of the result with anything read. Everything
// else goes to the method `_call_slowly` of the subclass, with the same arguments.
#define NPY_NO_DEPRECATED_API NPY_1_23_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#include "call.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "kernel.hpp"

namespace nb = nanobind;

namespace strop {
namespace {

constexpr size_t kMostOperands = 18;  // two inputs and the operands of an epilogue

// One array as the kernel was compiled for it.
struct Expected {
  int dimensions = 0;
  npy_intp shape[NPY_MAXDIMS_LEGACY_ITERS];
  npy_intp strides[NPY_MAXDIMS_LEGACY_ITERS];
  npy_intp below = 0, above = 0;  // the bytes it covers, from the element at index zero: [below, above)
  bool contiguous = false;        // in C order
};

struct Binding {
  std::shared_ptr<Kernel> kernel;
  std::vector<Expected> read;  // the inputs, then the operands of the epilogue
  std::vector<nb::object> names;  // of the latter, interned
  Expected output;
  size_t inputs = 0;
  nb::object type_object;         // keeps `type`
  PyArray_Descr* type = nullptr;
  npy_uintp alignment = 0;        // element size - 1
  int threads = 1;
  bool accumulate = false;
  bool release_gil = false;
};

struct CallObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  std::shared_ptr<const Binding> binding;
};

PyObject* g_out = nullptr;          // interned "out"
PyObject* g_call_slowly = nullptr;  // interned "_call_slowly"

inline bool same_form(const Expected& expected, const Binding& binding, PyObject* object) {
  if (Py_TYPE(object) != &PyArray_Type) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const PyArray_Descr* type = PyArray_DESCR(array);
  if (type != binding.type && (type->type_num != binding.type->type_num || !PyArray_ISNBO(type->byteorder)))
    return false;
  if (PyArray_NDIM(array) != expected.dimensions) return false;
  const npy_intp* shape = PyArray_DIMS(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  for (int d = 0; d < expected.dimensions; ++d)
    if (shape[d] != expected.shape[d] || (strides[d] != expected.strides[d] && shape[d] != 1)) return false;
  return true;
}

inline bool matches(const Expected& expected, const Binding& binding, PyObject* object) {
  return same_form(expected, binding, object) &&
         (reinterpret_cast<npy_uintp>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(object))) & binding.alignment) == 0;
}

inline bool overlap(const Expected& a, const char* a_data, const Expected& b, const char* b_data) {
  return a_data + a.below < b_data + b.above && b_data + b.below < a_data + a.above;
}

PyObject* call_slowly(PyObject* self, PyObject* const* args, size_t count, PyObject* names) {
  const size_t total = count + (names != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0);
  PyObject* few[32];
  std::vector<PyObject*> many;
  PyObject** all = few;
  if (total + 1 > std::size(few)) {
    try {
      many.resize(total + 1);
    } catch (const std::bad_alloc&) {
      return PyErr_NoMemory();
    }
    all = many.data();
  }
  all[0] = self;
  std::copy(args, args + total, all + 1);
  return PyObject_VectorcallMethod(g_call_slowly, all, count + 1, names);
}

bool execute(const Binding& binding, const Arguments& arguments) {
  try {
    run_parallel(*binding.kernel, arguments, binding.threads);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

PyObject* call_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const size_t count = PyVectorcall_NARGS(nargsf);
  const Binding* binding = reinterpret_cast<CallObject*>(self)->binding.get();
  if (binding == nullptr || count != binding->inputs) return call_slowly(self, args, count, names);

  const char* data[kMostOperands];
  const size_t reads = binding->read.size();
  for (size_t i = 0; i < count; ++i) {
    if (!matches(binding->read[i], *binding, args[i])) return call_slowly(self, args, count, names);
    data[i] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(args[i]));
  }

  // Keywords at a call site are interned strings: the same object means the same name.
  PyObject* out = nullptr;
  size_t found = count;
  const Py_ssize_t keywords = names != nullptr ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* const name = PyTuple_GET_ITEM(names, k);
    PyObject* const value = args[count + k];
    if (name == g_out || (PyUnicode_GET_LENGTH(name) == 3 && PyUnicode_Compare(name, g_out) == 0)) {
      if (value != Py_None) out = value;
      continue;
    }
    size_t e = count;
    while (e < reads && binding->names[e - count].ptr() != name) ++e;
    if (e == reads)  // from a ** dictionary, perhaps not interned
      for (e = count; e < reads && PyUnicode_Compare(binding->names[e - count].ptr(), name) != 0;) ++e;
    if (e == reads || !matches(binding->read[e], *binding, value)) return call_slowly(self, args, count, names);
    data[e] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(value));
    ++found;
  }
  if (found != reads) return call_slowly(self, args, count, names);

  char* result = nullptr;
  if (out != nullptr) {
    if (!matches(binding->output, *binding, out)) return call_slowly(self, args, count, names);
    auto* array = reinterpret_cast<PyArrayObject*>(out);
    if (!PyArray_ISWRITEABLE(array)) return call_slowly(self, args, count, names);
    result = PyArray_BYTES(array);
    for (size_t i = 0; i < reads; ++i)
      if (overlap(binding->output, result, binding->read[i], data[i])) return call_slowly(self, args, count, names);
    Py_INCREF(out);
  } else {
    if (binding->accumulate || !binding->output.contiguous) return call_slowly(self, args, count, names);
    out = PyArray_SimpleNew(binding->output.dimensions, binding->output.shape, binding->type->type_num);
    if (out == nullptr) return nullptr;
    result = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(out));
  }

  Arguments arguments{result,
                      {data[0], count > 1 ? data[1] : nullptr},
                      reinterpret_cast<const void* const*>(data + count),
                      nullptr,
                      0,
                      0};
  bool done;
  if (binding->release_gil) {
    // Another thread may bind this object anew meanwhile.
    const std::shared_ptr<const Binding> kept = reinterpret_cast<CallObject*>(self)->binding;
    Py_BEGIN_ALLOW_THREADS;
    done = execute(*kept, arguments);
    Py_END_ALLOW_THREADS;
  } else {
    done = execute(*binding, arguments);
  }
  if (done) return out;
  Py_DECREF(out);
  return PyErr_NoMemory();
}

// ---- Binding ----

bool import_numpy() {
  if (PyArray_API != nullptr) return true;
  import_array1(false);
  return true;
}

std::vector<npy_intp> integers(nb::handle sequence) {
  std::vector<npy_intp> values;
  for (nb::handle item : sequence) values.push_back(nb::cast<npy_intp>(item));
  return values;
}

Expected expected_array(nb::handle shape, nb::handle strides, npy_intp item) {
  const std::vector<npy_intp> extents = integers(shape), steps = integers(strides);
  if (extents.size() != steps.size() || extents.size() > std::size(Expected{}.shape))
    throw nb::value_error("shape and strides must be of one length, 32 at most");
  Expected array;
  array.dimensions = static_cast<int>(extents.size());
  array.above = item;
  npy_intp dense = item;
  array.contiguous = true;
  for (size_t d = extents.size(); d-- > 0;) {
    if (extents[d] < 1) throw nb::value_error("a kernel's arrays have no extent below 1");
    array.shape[d] = extents[d];
    array.strides[d] = steps[d];
    const npy_intp reach = (extents[d] - 1) * steps[d];
    (reach < 0 ? array.below : array.above) += reach;
    if (extents[d] != 1 && steps[d] != dense) array.contiguous = false;
    dense *= extents[d];
  }
  return array;
}

std::shared_ptr<const Binding> make_binding(nb::handle kernel, nb::handle inputs, nb::handle output, nb::handle extras,
                                            nb::handle dtype, int threads, bool accumulate, bool release_gil) {
  auto binding = std::make_shared<Binding>();
  binding->kernel = nb::cast<std::shared_ptr<Kernel>>(kernel);
  const std::string name = nb::cast<std::string>(dtype);
  if (name != "float32" && name != "float64") throw nb::value_error("dtype is float32 or float64");
  const bool narrow = name == "float32";
  if (narrow != (binding->kernel->spec().type == Scalar::f32)) throw nb::value_error("dtype isn't the kernel's");
  binding->type = PyArray_DescrFromType(narrow ? NPY_FLOAT32 : NPY_FLOAT64);
  binding->type_object = nb::steal(reinterpret_cast<PyObject*>(binding->type));
  const npy_intp item = narrow ? 4 : 8;
  binding->alignment = static_cast<npy_uintp>(item - 1);
  for (nb::handle array : inputs) binding->read.push_back(expected_array(array[0], array[1], item));
  binding->inputs = binding->read.size();
  for (nb::handle array : extras) {
    PyObject* text = nb::cast<nb::str>(array[0]).release().ptr();
    PyUnicode_InternInPlace(&text);
    binding->names.push_back(nb::steal(text));
    binding->read.push_back(expected_array(array[1], array[2], item));
  }
  if (binding->inputs != binding->kernel->spec().inputs.size() ||
      binding->names.size() != binding->kernel->spec().extras.size() || binding->read.size() > kMostOperands)
    throw nb::value_error("the kernel takes another number of operands");
  binding->output = expected_array(output[0], output[1], item);
  binding->threads = threads;
  binding->accumulate = accumulate;
  binding->release_gil = release_gil;
  return binding;
}

PyObject* call_bind(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* kNames[] = {"kernel",  "inputs",     "output",      "extras", "dtype",
                                 "threads", "accumulate", "release_gil", nullptr};
  PyObject *kernel, *inputs = nullptr, *output = nullptr, *extras = nullptr, *dtype = nullptr;
  int threads = 1, accumulate = 0, release_gil = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOOOipp:_bind", const_cast<char**>(kNames), &kernel, &inputs,
                                   &output, &extras, &dtype, &threads, &accumulate, &release_gil))
    return nullptr;
  if (inputs == nullptr || output == nullptr || extras == nullptr || dtype == nullptr) {
    PyErr_SetString(PyExc_TypeError, "_bind needs inputs, output, extras and dtype");
    return nullptr;
  }
  if (!import_numpy()) return nullptr;
  try {
    reinterpret_cast<CallObject*>(self)->binding =
        make_binding(kernel, inputs, output, extras, dtype, threads, accumulate != 0, release_gil != 0);
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return nullptr;
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "_bind: an argument is of the wrong type");
    return nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  Py_RETURN_NONE;
}

// What is left to a caller that has checked overlap and writability more exactly than a range can: the run itself.
PyObject* call_run(PyObject* self, PyObject* args) {
  PyObject *reads, *out;
  if (!PyArg_ParseTuple(args, "O!O:_run_checked", &PyTuple_Type, &reads, &out)) return nullptr;
  const std::shared_ptr<const Binding> binding = reinterpret_cast<CallObject*>(self)->binding;
  bool right = binding && static_cast<size_t>(PyTuple_GET_SIZE(reads)) == binding->read.size() &&
               same_form(binding->output, *binding, out);
  const char* data[kMostOperands] = {};
  for (size_t i = 0; right && i < binding->read.size(); ++i) {
    PyObject* const array = PyTuple_GET_ITEM(reads, static_cast<Py_ssize_t>(i));
    right = same_form(binding->read[i], *binding, array);
    if (right) data[i] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array));
  }
  if (!right) {
    PyErr_SetString(PyExc_TypeError, "the arrays aren't of the form this call was bound to");
    return nullptr;
  }
  const Arguments arguments{PyArray_BYTES(reinterpret_cast<PyArrayObject*>(out)),
                            {data[0], binding->inputs > 1 ? data[1] : nullptr},
                            reinterpret_cast<const void* const*>(data + binding->inputs),
                            nullptr,
                            0,
                            0};
  bool done;
  Py_BEGIN_ALLOW_THREADS;
  done = execute(*binding, arguments);
  Py_END_ALLOW_THREADS;
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

PyObject* call_refuse(PyObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "the arguments aren't the arrays this call was bound to");
  return nullptr;
}

// ---- The type ----

PyObject* call_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* call = reinterpret_cast<CallObject*>(self);
  call->vectorcall = call_vectorcall;
  new (&call->binding) std::shared_ptr<const Binding>();
  return self;
}

void call_dealloc(PyObject* self) {
  reinterpret_cast<CallObject*>(self)->binding.~shared_ptr();
  Py_TYPE(self)->tp_free(self);
}

PyMethodDef kMethods[] = {
    {"_bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_bind)), METH_VARARGS | METH_KEYWORDS,
     "_bind(kernel, *, inputs, output, extras, dtype, threads=1, accumulate=False, release_gil=False)\n\n"
     "Make this object run `kernel` on NumPy arrays of exactly these forms: inputs=[(shape, byte strides)],\n"
     "output=(shape, byte strides), extras=[(name, shape, byte strides)], dtype \"float32\" or \"float64\"."},
    {"_run_checked", reinterpret_cast<PyCFunction>(call_run), METH_VARARGS,
     "_run_checked(reads, out): run on arrays of the bound forms, inputs then operands of the epilogue, that the caller\n"
     "has checked; `out` must be writable and share no element with them."},
    {"_call_slowly", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_refuse)),
     METH_VARARGS | METH_KEYWORDS, "What a call with any other arguments does; a subclass overrides it."},
    {nullptr, nullptr, 0, nullptr}};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
PyTypeObject call_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
#pragma GCC diagnostic pop

void fill_type() {
  call_type.tp_name = "strop._native.Call";
  call_type.tp_doc = "A kernel bound to arrays of one form: call(*inputs, out=None, **epilogue_operands).";
  call_type.tp_basicsize = sizeof(CallObject);
  call_type.tp_dealloc = call_dealloc;
  call_type.tp_vectorcall_offset = offsetof(CallObject, vectorcall);
  call_type.tp_call = PyVectorcall_Call;
  call_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL;
  call_type.tp_methods = kMethods;
  call_type.tp_new = call_new;
}

// Python 3.11 does not pass the vectorcall flag on to classes written in Python.
PyObject* enable_vectorcall(PyObject*, PyObject* cls) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!PyType_Check(cls) || !PyType_IsSubtype(type, &call_type)) {
    PyErr_SetString(PyExc_TypeError, "enable_vectorcall takes a subclass of Call");
    return nullptr;
  }
  if (type->tp_call != PyVectorcall_Call || type->tp_vectorcall_offset != call_type.tp_vectorcall_offset) {
    PyErr_SetString(PyExc_TypeError, "the class defines __call__ itself");
    return nullptr;
  }
  type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(type);
  Py_INCREF(cls);
  return cls;
}

PyMethodDef kFunctions[] = {
    {"enable_vectorcall", enable_vectorcall, METH_O,
     "Let instances of a subclass of Call be called without a tuple of arguments; returns the class, as a decorator."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_call_type(PyObject* module) {
  fill_type();
  if (PyType_Ready(&call_type) < 0) return false;
  g_out = PyUnicode_InternFromString("out");
  g_call_slowly = PyUnicode_InternFromString("_call_slowly");
  return g_out != nullptr && g_call_slowly != nullptr &&
         PyModule_AddObjectRef(module, "Call", reinterpret_cast<PyObject*>(&call_type)) == 0 &&
         PyModule_AddFunctions(module, kFunctions) == 0;
}

}  // namespace strop
