// The rate of multiply-adds of one core from registers alone: what a kernel's share of peak is a share of.
#pragma once

#include "spec.hpp"

namespace strop {

// Floating-point operations (two a multiply-add) per second, the best of the samples that fit into `seconds`.
double measure_peak(Isa isa, Scalar type, double seconds);

}  // namespace strop
