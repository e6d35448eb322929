/* Times kernels through one call path: a pointer to a function that takes a pointer to its arguments, as the code
 * generator's kernels do (native/loopnest/kernel.hpp). The schedules of constant_schedules.c are called the same way.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>

struct arguments {
  void *output;
  const void *inputs[2];
  const void *const *extras;
  void *scratch;
  int64_t begin, end;
};

struct by_hand {
  struct arguments shared;
  long step, m, n, k;
};

void rows_first(long step, long m, long n, long k, const float *a, const float *b, float *c);
void columns_first(long step, long m, long n, long k, const float *a, const float *b, float *c);

void call_rows_first(const struct arguments *shared) {
  const struct by_hand *x = (const struct by_hand *)shared;
  rows_first(x->step, x->m, x->n, x->k, shared->inputs[0], shared->inputs[1], shared->output);
}

void call_columns_first(const struct arguments *shared) {
  const struct by_hand *x = (const struct by_hand *)shared;
  columns_first(x->step, x->m, x->n, x->k, shared->inputs[0], shared->inputs[1], shared->output);
}

/* Seconds per call, after one call that isn't counted. */
double seconds_per_call(void (*function)(const struct arguments *), const struct arguments *shared, long calls) {
  struct timespec begin, end;
  function(shared);
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < calls; ++i) function(shared);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) / (double)calls;
}
