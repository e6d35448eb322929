// The memory side of the accelerator's port: one 16-byte channel out (A), one back (D), and the shared L2.
//
// Requests are served in the order in which A takes them, which is when memory is read or written: what a packet
// returns is what memory held then. Only when the answer comes is a matter of hits and misses.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gemmini/timing.hpp"

namespace strop::gemmini {

// An answer on its way back: the beats of a read, or the acknowledgement of a write.
struct Answer {
  Cycle at = 0;         // the first cycle in which D may carry its first beat
  uint32_t order = 0;
  uint8_t id = 0;
  uint8_t beats = 1;
  bool write = false;
};

class MemorySystem {
 public:
  MemorySystem(const Timing& timing);
  void reset();

  // The lines of [address, address + bytes) are in the cache, as after the core has just written them.
  void warm(uint64_t address, uint64_t bytes);

  // A took the request at `now`. `whole_line` writes need not fetch what they replace.
  void read(Cycle now, uint64_t address, int bytes, int id);
  void write(Cycle now, uint64_t address, bool whole_line, int id);

  // The answer whose next beat D could carry at `now`, or null. `carry_beat` carries it; true for its last.
  const Answer* waiting(Cycle now) const { return count_ > 0 && heap_[0].at <= now ? &heap_[0] : nullptr; }
  bool carry_beat();
  bool idle() const { return count_ == 0; }
  Cycle next() const { return count_ > 0 ? heap_[0].at : kNever; }

  uint64_t hits = 0, misses = 0, fill_bytes = 0;

 private:
  // The cycle at which the line's bytes are in the cache, and whether they were (or were on their way) before.
  Cycle line_ready(Cycle now, uint64_t address, bool fetch);
  void push(Answer answer);

  const Timing& timing_;
  int sets_;
  std::vector<uint64_t> tags_;       // set * ways + way: line number + 1, 0 for none
  std::vector<Cycle> filled_;        // when the line's bytes are there
  std::vector<Cycle> miss_free_;     // per miss handler
  Cycle last_fill_ = 0;
  uint32_t random_ = 0x5EED5EEDu, order_ = 0;
  std::array<Answer, 160> heap_{};   // earliest first; the top stays on top until its last beat
  int count_ = 0;
};

}  // namespace strop::gemmini
