// As small as a code object with inlined calls and line information gets: tests damage it many times over.
// python tests/stalls/kernels/amd/build.py small gfx942 small.gfx942.hsaco
#include "hipmini.h"

__device__ static inline float scaled(float a, float x, float y) { return a * x + y; }

__global__ void saxpy(const float *x, float *y, float a) {
  int i = gid();
  y[i] = scaled(a, x[i], y[i]);
}
