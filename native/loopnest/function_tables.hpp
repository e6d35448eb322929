// Written by tools/fit_functions.py; do not edit. Coefficients stand lowest power first.
#pragma once

#include <vector>

namespace strop {

struct FunctionTable {
  double log2_high, log2_low;               // log(2) in two parts
  std::vector<double> expm1;                // expm1(r) = r + r*r*(expm1[0] + expm1[1]*r + ...), |r| <= log(2)/2
  std::vector<double> tail_above, tail_below;  // exp(t*t/2) * erfc(t/sqrt(2))/2 = above(t)/below(t), 0 <= t <= tail_end
  double tail_end;                          // exp(-t*t/2) is zero in the element type from here on
};

// expm1: relative error 2.4e-8; tail: 7.4e-9.
inline const FunctionTable k_f32 = {
    .log2_high = 0x1.62e42e0000000p-1,
    .log2_low = 0x1.efa39e0000000p-25,
    .expm1 = {0x1.0000000000000p-1, 0x1.5554dc0000000p-3, 0x1.5555180000000p-5, 0x1.120be20000000p-7, 0x1.6d117c0000000p-10},
    .tail_above = {0x1.0000000000000p-1, 0x1.c018900000000p-2, 0x1.761bce0000000p-3, 0x1.4b33080000000p-5, 0x1.0b8a9c0000000p-8},
    .tail_below = {0x1.0000000000000p+0, 0x1.ac4e780000000p+0, 0x1.3343ea0000000p+0, 0x1.df33040000000p-2, 0x1.9f1f980000000p-4, 0x1.4f4f3e0000000p-7},
    .tail_end = 14.5,
};

// expm1: relative error 3.9e-17; tail: 9.0e-17.
inline const FunctionTable k_f64 = {
    .log2_high = 0x1.62e42fefa39efp-1,
    .log2_low = 0x1.abc9e3b39803fp-56,
    .expm1 = {0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.5555555553d37p-5, 0x1.11111111109a6p-7, 0x1.6c16c1789d1d7p-10, 0x1.a01a01a7cebcdp-13, 0x1.a019b8ca26fcfp-16, 0x1.71de0d85293b8p-19, 0x1.2891d4ffbb0f9p-22, 0x1.af390ba7e6f47p-26},
    .tail_above = {0x1.0000000000000p-1, 0x1.8d3d392341454p-1, 0x1.30de1fc15f331p-1, 0x1.2947e34e943dcp-2, 0x1.91f1b3ce68313p-4, 0x1.852462d33dcd2p-6, 0x1.0dbebc732752bp-8, 0x1.0313c7c1f614cp-11, 0x1.3b3ca4a3130a8p-15, 0x1.779f7e954a414p-20},
    .tail_below = {0x1.0000000000000p+0, 0x1.2cbfb160f17afp+1, 0x1.48658b8abad44p+1, 0x1.b805e3ae70b16p+0, 0x1.91d17a6656e32p-1, 0x1.0640c927a6206p-2, 0x1.f1ce91a4fd59fp-5, 0x1.5529756a5bb5ep-7, 0x1.459feb17ac934p-10, 0x1.8b1741c45b5b5p-14, 0x1.d6c60dc92ddebp-19},
    .tail_end = 39.0,
};

}  // namespace strop
