// Which lines a cache holds: tags alone, least recently used out. Without sets every access hits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace strop::rocket {

class TagCache {
 public:
  TagCache(uint64_t sets, uint64_t ways, uint64_t line, uint64_t miss)
      : miss(miss), sets_(std::min<uint64_t>(sets, 1 << 16)), ways_(std::clamp<uint64_t>(ways, 1, 64)), line_(std::max<uint64_t>(line, 1)) {
    reset();
  }

  void reset() {
    last_ = UINT64_MAX;
    tags_.assign(sets_ * ways_, UINT64_MAX);
  }

  // Whether the line of `address` was there; it is afterwards.
  bool access(uint64_t address) {
    if (sets_ == 0) return true;
    const uint64_t line = address / line_;
    return line == last_ || look_up(line);
  }

  bool enabled() const { return sets_ != 0; }

  uint64_t miss;

 private:
  bool look_up(uint64_t line) {
    last_ = line;
    uint64_t* set = tags_.data() + line % sets_ * ways_;  // most recently used first
    uint64_t way = 0;
    while (way + 1 < ways_ && set[way] != line) ++way;
    const bool hit = set[way] == line;
    for (; way > 0; --way) set[way] = set[way - 1];
    set[0] = line;
    return hit;
  }

  uint64_t sets_, ways_, line_, last_ = UINT64_MAX;
  std::vector<uint64_t> tags_;
};

}  // namespace strop::rocket
