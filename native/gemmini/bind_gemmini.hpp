// Registers the Gemmini part of strop._native; bind_rocket comes first (Memory and Coprocessor are its).
#pragma once

#include <nanobind/nanobind.h>

#include "gemmini/state.hpp"

namespace strop::gemmini {

nanobind::dict work_of(const Work& work);  // what was done, for Python

void bind_gemmini(nanobind::module_& m);
void bind_gemmini_core(nanobind::module_& m);  // what a Machine drives
void bind_gemmini_timed(nanobind::module_& m);

}  // namespace strop::gemmini
