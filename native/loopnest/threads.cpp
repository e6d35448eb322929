// The shared pool that runs the parts of a parallel loop.
//
// A job is a number of equal parts, claimed one by one by the caller and the workers; a worker that comes late or
// could not be created leaves its parts to the others, so a job always ends. One job runs at a time: a second caller
// runs its whole loop itself rather than wait. Workers spin a little for the next job, then sleep.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "kernel.hpp"

#if STROP_X86
#include <immintrin.h>
#endif

namespace strop {
namespace {

constexpr size_t kCacheLine = 64;
constexpr auto kSpin = std::chrono::microseconds(30);  // about what waking a sleeper costs

void relax() {
#if STROP_X86
  _mm_pause();
#endif
}

// Returns when `ready` holds, or after the time to spin.
template <typename Ready>
bool spin(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

// Memory for one thread at a time, 64-byte aligned, that only grows.
class Scratch {
 public:
  void* at_least(size_t bytes) {
    if (bytes > bytes_) {
      const size_t rounded = (bytes + 4095) / 4096 * 4096;
      memory_.reset();
      bytes_ = 0;
      memory_.reset(std::aligned_alloc(kCacheLine, rounded));
      if (memory_ == nullptr) throw std::bad_alloc();
      bytes_ = rounded;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  size_t bytes_ = 0;
};

class Pool {
 public:
  // False when another caller has the pool. Throws std::bad_alloc before anything has run.
  bool run(const Kernel& kernel, const Arguments& arguments, int parts) {
    const std::unique_lock<std::mutex> one(busy_, std::try_to_lock);
    if (!one.owns_lock()) return false;
    if (scratch_.size() < static_cast<size_t>(parts)) scratch_.resize(parts);
    for (int part = 0; part < parts; ++part) scratch_[part].at_least(kernel.scratch_bytes());
    hire(parts - 1);

    kernel_ = &kernel;
    arguments_ = &arguments;
    parts_ = parts;
    unfinished_.store(parts, std::memory_order_relaxed);
    ++job_;
    unclaimed_.store(static_cast<uint64_t>(job_) << 32 | static_cast<uint32_t>(parts), std::memory_order_release);
    posted_.fetch_add(1, std::memory_order_release);
    posted_.notify_all();

    while (work()) {
    }
    if (!spin([&] { return unfinished_.load(std::memory_order_acquire) == 0; }))
      for (int left; (left = unfinished_.load(std::memory_order_acquire)) != 0;) unfinished_.wait(left);
    return true;
  }

 private:
  void hire(int wanted) {
    // Workers inherit a full signal mask: signals belong to the application's own threads.
    if (workers_ >= wanted) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; workers_ < wanted; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // No more threads to be had: those there are do it.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void serve() {
    for (;;) {
      const uint32_t seen = posted_.load(std::memory_order_acquire);
      while (work()) {
      }
      if (!spin([&] { return posted_.load(std::memory_order_acquire) != seen; })) posted_.wait(seen);
    }
  }

  // Claims one part and runs it. The job's fields are read only after a claim: while a claimed part is unfinished,
  // the job cannot end and the next cannot begin.
  bool work() {
    uint64_t seen = unclaimed_.load(std::memory_order_acquire);
    do {
      if (static_cast<uint32_t>(seen) == 0) return false;
    } while (!unclaimed_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire));
    const int64_t part = static_cast<uint32_t>(seen) - 1;
    const int64_t iterations = kernel_->parallel_iterations();
    Arguments mine = *arguments_;
    mine.begin = iterations * part / parts_;
    mine.end = iterations * (part + 1) / parts_;
    mine.scratch = scratch_[part].at_least(0);
    kernel_->run(mine);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_all();
    return true;
  }

  std::mutex busy_;
  std::vector<Scratch> scratch_;  // one a part
  int workers_ = 0;
  uint32_t job_ = 0;
  const Kernel* kernel_ = nullptr;
  const Arguments* arguments_ = nullptr;
  int64_t parts_ = 0;
  alignas(kCacheLine) std::atomic<uint32_t> posted_{0};
  alignas(kCacheLine) std::atomic<uint64_t> unclaimed_{0};  // job << 32 | parts not yet claimed
  alignas(kCacheLine) std::atomic<int> unfinished_{0};
};

// Never destroyed: workers sleep in it until the process ends. A forked child has none of its parent's threads, so
// it forgets the parent's pool and makes its own when it needs one.
std::atomic<Pool*> g_pool{nullptr};

Pool& pool() {
  static std::mutex making;
  static const int forgets = pthread_atfork([] { making.lock(); }, [] { making.unlock(); },
                                            [] {
                                              g_pool.store(nullptr);
                                              making.unlock();
                                            });
  (void)forgets;
  if (Pool* ready = g_pool.load(std::memory_order_acquire)) return *ready;
  const std::lock_guard<std::mutex> lock(making);
  if (g_pool.load() == nullptr) g_pool.store(new Pool, std::memory_order_release);
  return *g_pool.load();
}

}  // namespace

void run_parallel(const Kernel& kernel, const Arguments& arguments, int threads) {
  const int64_t iterations = kernel.parallel_iterations();
  const int parts = static_cast<int>(std::min<int64_t>(threads, iterations));
  if (parts > 1 && pool().run(kernel, arguments, parts)) return;
  thread_local Scratch scratch;
  Arguments whole = arguments;
  whole.begin = 0;
  whole.end = iterations;
  whole.scratch = kernel.scratch_bytes() != 0 ? scratch.at_least(kernel.scratch_bytes()) : nullptr;
  kernel.run(whole);
}

}  // namespace strop
