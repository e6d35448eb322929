#include "gemmini/counters.hpp"

#include <algorithm>

namespace strop::gemmini {

void Counters::add(Event event, uint64_t times) {
  for (int n = 0; n < kCounters; n++)
    if (config_[n] == static_cast<uint8_t>(event)) counter_[n] += static_cast<uint32_t>(times);
}

uint32_t Counters::access(uint64_t rs1) {
  const int index = static_cast<int>(rs1 >> 4 & 7);
  const uint32_t result = snapshot_on_ ? snapshot_[index] : value(index, external_[index]);
  const bool reset = rs1 & 1, drop_snapshot = rs1 >> 1 & 1, take_snapshot = rs1 >> 2 & 1, configure = rs1 >> 3 & 1;
  if (drop_snapshot) {
    snapshot_on_ = false;
  } else if (take_snapshot) {
    snapshot_on_ = true;
    // All are taken as counters or all as shown values, by the one that the command names (CounterFile.scala).
    for (int n = 0; n < kCounters; n++) snapshot_[n] = value(n, external_[index]);
  }
  if (configure) {
    config_[index] = static_cast<uint8_t>(rs1 >> 12 & 0x3F);
    external_[index] = rs1 >> 31 & 1;
    shows_ = shows_ || external_[index];
    counter_[index] = 0;
    counted_ = 0;
    for (uint8_t event : config_)
      if (event != 0 && event < kEvents) counted_ |= uint64_t{1} << event;
  }
  if (reset) {
    std::fill(counter_, counter_ + kCounters, 0);
    std::fill(snapshot_, snapshot_ + kCounters, 0);
    std::fill(shown_ + static_cast<int>(Shown::bytes_read), shown_ + 8, 0);
    snapshot_on_ = false;
  }
  return result;
}

}  // namespace strop::gemmini
