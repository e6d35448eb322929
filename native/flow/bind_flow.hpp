#pragma once
#include <nanobind/nanobind.h>

namespace strop::flow {

void bind_flow(nanobind::module_& m);
void bind_pieces(nanobind::module_& m);

}  // namespace strop::flow
