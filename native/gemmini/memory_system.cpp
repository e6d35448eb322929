#include "gemmini/memory_system.hpp"

#include <algorithm>
#include <stdexcept>

namespace strop::gemmini {

namespace {
constexpr int kLine = 64;
bool before(const Answer& a, const Answer& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; }
}  // namespace

MemorySystem::MemorySystem(const Timing& timing)
    : timing_(timing), sets_(static_cast<int>(timing.cache_bytes / (kLine * timing.cache_ways))),
      tags_(static_cast<size_t>(sets_) * timing.cache_ways), filled_(tags_.size()),
      miss_free_(timing.misses) {}

void MemorySystem::reset() {
  std::fill(tags_.begin(), tags_.end(), 0);
  std::fill(filled_.begin(), filled_.end(), 0);
  std::fill(miss_free_.begin(), miss_free_.end(), 0);
  last_fill_ = 0;
  order_ = 0;
  random_ = 0x5EED5EEDu;
  count_ = 0;
  hits = misses = fill_bytes = 0;
}

Cycle MemorySystem::line_ready(Cycle now, uint64_t address, bool fetch) {
  const uint64_t line = address / kLine;
  const size_t first = (line & (sets_ - 1)) * timing_.cache_ways;
  for (size_t w = first; w < first + timing_.cache_ways; ++w) {
    if (tags_[w] == line + 1) {
      ++hits;
      // A request to a line on its way is answered after its fill.
      return filled_[w] > now ? std::max(now + timing_.hit, filled_[w] + timing_.secondary) : now + timing_.hit;
    }
  }
  // The victim is a random way, empty or not (the L2's Directory); the sequence is fixed.
  random_ = (random_ >> 1) ^ (-(random_ & 1u) & 0xA3000000u);
  const size_t victim = first + (random_ >> 8) % timing_.cache_ways;
  tags_[victim] = line + 1;
  if (timing_.cache_warm || !fetch) {
    filled_[victim] = now;
    ++hits;
    return now + timing_.hit;
  }
  ++misses;
  fill_bytes += kLine;
  // The handler that is free first takes the miss; fills share the memory bus.
  auto handler = std::min_element(miss_free_.begin(), miss_free_.end());
  const Cycle start = std::max(now, *handler);
  const Cycle done = std::max(start + timing_.miss, last_fill_ + (kLine + timing_.fill_bytes - 1) / timing_.fill_bytes);
  *handler = done;
  last_fill_ = done;
  filled_[victim] = done;
  return done;
}

void MemorySystem::warm(uint64_t address, uint64_t bytes) {
  for (uint64_t a = address / kLine * kLine; a < address + bytes; a += kLine) line_ready(0, a, false);
  hits = misses = 0;
}

void MemorySystem::read(Cycle now, uint64_t address, int bytes, int id) {
  Answer answer;
  answer.at = line_ready(now, address, true);
  answer.id = static_cast<uint8_t>(id);
  answer.beats = static_cast<uint8_t>(bytes > timing_.bus_bytes ? bytes / timing_.bus_bytes : 1);
  push(answer);
}

void MemorySystem::write(Cycle now, uint64_t address, bool whole_line, int id) {
  Answer answer;
  answer.at = std::max(line_ready(now, address, !whole_line), now + timing_.write_hit);
  answer.id = static_cast<uint8_t>(id);
  answer.write = true;
  push(answer);
}

void MemorySystem::push(Answer answer) {
  if (count_ == static_cast<int>(heap_.size())) throw std::logic_error("too many requests in the memory system");
  answer.order = order_++;  // one that has begun is never displaced: whatever comes later is answered later
  int i = count_++;
  while (i > 0) {
    const int parent = (i - 1) / 2;
    if (!before(answer, heap_[parent])) break;
    heap_[i] = heap_[parent];
    i = parent;
  }
  heap_[i] = answer;
}

bool MemorySystem::carry_beat() {
  if (--heap_[0].beats > 0) return false;
  const Answer last = heap_[--count_];
  int i = 0;
  for (;;) {
    int child = 2 * i + 1;
    if (child >= count_) break;
    if (child + 1 < count_ && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], last)) break;
    heap_[i] = heap_[child];
    i = child;
  }
  heap_[i] = last;
  return true;
}

}  // namespace strop::gemmini
