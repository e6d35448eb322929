// Functions of ours (not generated ones) that are compiled once for each instruction set and picked when the module is
// loaded, where compiler and C library can do that.
#pragma once

#include <cstdint>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define STROP_VECTORISED __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512"), optimize("O3")))
#define STROP_INLINE __attribute__((always_inline, optimize("O3"))) inline
#else
#define STROP_VECTORISED
#define STROP_INLINE inline
#endif
