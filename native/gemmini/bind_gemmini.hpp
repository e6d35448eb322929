// Registers the Gemmini part of strop._native.
#pragma once

#include <nanobind/nanobind.h>

namespace strop::gemmini {

void bind_gemmini(nanobind::module_& m);

}  // namespace strop::gemmini
