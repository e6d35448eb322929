// One sample of the time a call takes: a warm-up, then a batch between two readings of the clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace strop {

class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Seconds since the start without what reading the clock takes.
  double seconds() const {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count() - overhead();
    return std::max(elapsed, 1e-9);
  }

 private:
  static double overhead() {
    static const double measured = [] {
      double least = 1;
      for (int i = 0; i < 200; ++i) {
        const auto start = Clock::now();
        least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
      }
      return least;
    }();
    return measured;
  }

  Clock::time_point start_ = Clock::now();
};

// Seconds per call over about `seconds`. `expected` is what earlier samples gave (0: nothing yet) and is updated: the
// number of calls is fixed before the batch, so that nothing but calls is timed. A call that takes `seconds` by itself
// is a sample and needs no warm-up: it brings its operands in while it runs. Shorter ones get two calls at least.
template <typename Call>
double sample(const Call& call, double seconds, double& expected) {
  const Stopwatch warm_up;
  call();
  const double first = warm_up.seconds();
  if (first >= seconds && (expected == 0 || expected >= seconds)) return expected = first;
  // A first call may be cold by far: a second one decides how many are to come.
  if (expected == 0 && first < seconds) {
    const Stopwatch again;
    call();
    expected = again.seconds();
  }
  const double each = expected > 0 ? expected : first;
  const int64_t calls = std::max<int64_t>(2, static_cast<int64_t>(seconds / each + 0.5));
  const Stopwatch batch;
  for (int64_t i = 0; i < calls; ++i) call();
  expected = batch.seconds() / static_cast<double>(calls);
  return expected;
}

}  // namespace strop
