#pragma once

#include <nanobind/nanobind.h>

namespace strop::rocket {

// Binds Memory, Coprocessor (abstract: accelerators derive from it), Machine and RunResult. Imports nothing.
void bind_rocket(nanobind::module_& m);

}  // namespace strop::rocket
