// Reads a Spec from the plain lists, tuples, numbers and strings that the Python side sends.
#pragma once

#include <nanobind/nanobind.h>

#include "spec.hpp"

namespace strop {

// The problem alone, no loops. Raises TypeError, ValueError or OverflowError on anything of another form.
Spec read_problem(nanobind::handle dtype, nanobind::handle reduce, nanobind::handle combine, bool accumulate,
                  nanobind::handle sizes, nanobind::handle output_axis, nanobind::handle inputs,
                  nanobind::handle output, nanobind::handle extras, nanobind::handle epilogue);

// Adds [(axis, step, balanced, pieces, partner, partner_steps, unroll, parallel, pack, prefetch)].
void read_loops(Spec& spec, nanobind::handle loops);

Scalar read_scalar(nanobind::handle dtype);  // "float32" or "float64"

}  // namespace strop
