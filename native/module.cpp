// The extension module strop._native: binds the code generator. Importing it must not import NumPy.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_native, m) {
    m.doc() = "strop's code generator";
    m.def("version", [] { return STROP_VERSION; }, "The version of strop this module was built for.");
}
