#include "gemmini/store_unit.hpp"

#include <algorithm>
#include <cstring>

#include "gemmini/named_access.hpp"

namespace strop::gemmini {

StoreUnit::StoreUnit(const Timing& timing, State& state, rocket::Memory& memory, ReservationStation& station,
                     Tlb& tlb)
    : timing_(timing), state_(state), memory_(memory), station_(station), tlb_(tlb), tracked_(timing.store_commands),
      packets_(timing.writes) {
  reset();
}

void StoreUnit::reset() {
  queue_.clear();
  std::fill(tracked_.begin(), tracked_.end(), Tracked());
  live_commands_ = issued_ = in_flight_ = row_bytes_ = sent_ = beats_left_ = 0;
  current_ = sending_ = -1;
  idle_next_ = writing_ = active = out_of_ids = false;
  dispatch_.clear();
  pipe_.clear();
  bus_.clear();
  for (Packet& p : packets_) p.live = false;
  wait = read_wait = Wait::none;
  bytes = packets = bank_stalls = port_stalls = 0;
}

int StoreUnit::find_finished(Cycle now) const {
  for (const Tracked& t : tracked_)
    if (t.slot >= 0 && t.left == 0 && t.done < now) return t.slot;
  return -1;
}

void StoreUnit::finish(int slot) {
  for (Tracked& t : tracked_)
    if (t.slot == slot) {
      t.slot = -1;
      --live_commands_;
      return;
    }
}

// Counts on to the next block of a row, or the next element of a pooling window. False after the last.
bool StoreUnit::advance(const Command& c) {
  Dispatch& d = at_;
  if (!c.store.pooling() || c.kind == Kind::store_spad) {
    if (++d.block < store_blocks(state_.geometry, c)) return true;
    d.block = 0;
    return ++d.row < c.first.rows;
  }
  if (++d.window_column < c.store.pool_size) return true;
  d.window_column = 0;
  if (++d.window_row < c.store.pool_size) return true;
  d.window_row = 0;
  if (++d.pool_column < c.store.pool_columns) return true;
  d.pool_column = 0;
  return ++d.pool_row < c.store.pool_rows;
}

bool StoreUnit::control(Cycle now) {
  wait = Wait::none;
  active = current_ >= 0;
  if (current_ < 0) {
    if (queue_.empty()) return false;
    if (idle_next_) {
      idle_next_ = false;
      return true;
    }
    const int slot = queue_.front();
    if (slot < 0) {  // a config
      queue_.pop();
      return true;
    }
    const Command& c = station_.entry(slot).command;
    int free = -1;
    for (size_t i = 0; i < tracked_.size() && free < 0; ++i)
      if (tracked_[i].slot < 0) free = static_cast<int>(i);
    if (free < 0) {
      wait = Wait::dma_ids;
      return false;
    }
    Tracked& t = tracked_[free];
    t.slot = slot;
    const StoreConfig& s = c.store;
    t.left = s.pooling() && c.kind == Kind::store
                 ? int64_t{1} * s.pool_rows * s.pool_columns * s.pool_size * s.pool_size
                 : int64_t{1} * c.first.rows * store_blocks(state_.geometry, c);
    ++live_commands_;
    if (t.left <= 0) {
      t.left = 0;
      t.done = now;
      queue_.pop();
      return true;
    }
    current_ = free;
    at_ = Dispatch();
    at_.slot = slot;
    at_.tracked = free;
    at_.pooling = s.pooling() && c.kind == Kind::store;
    active = true;
    idle_next_ = t.left == 1;
  }
  if (dispatch_.size() >= timing_.dispatch_queue) {
    wait = Wait::scale_queue;
    return false;
  }
  const Command& c = station_.entry(at_.slot).command;
  Dispatch d = at_;
  d.last = d.pooling ? d.window_row == c.store.pool_size - 1 && d.window_column == c.store.pool_size - 1
                     : d.block == store_blocks(state_.geometry, c) - 1;
  dispatch_.push(d);
  if (!advance(c)) {
    current_ = -1;
    queue_.pop();
  }
  return true;
}

// Whether the element at the head lies outside the image; else the row that it stands in.
bool StoreUnit::padding(const Command& c, uint32_t& row) const {
  const Dispatch& d = dispatch_.front();
  const StoreConfig& s = c.store;
  if (!d.pooling) {
    row = c.first.at.row() + static_cast<uint32_t>(d.row + d.block * state_.geometry.dim);
    return false;
  }
  const int y = d.pool_row * s.pool_stride + d.window_row - s.pool_up;
  const int x = d.pool_column * s.pool_stride + d.window_column - s.pool_left;
  if (y < 0 || x < 0 || y >= s.out_rows || x >= s.out_columns) return true;
  row = c.first.at.row() + static_cast<uint32_t>(y * s.out_columns + x);
  return false;
}

bool StoreUnit::read(Cycle now, Ports& ports) {
  read_wait = Wait::none;
  bool changed = false;
  // Into the issue queue, one a cycle: from there an accumulator row passes the scale unit.
  if (issued_ < pipe_.size() && issued_ < timing_.store_issue_queue && pipe_.at(issued_).at <= now) {
    Piped& p = pipe_.at(issued_++);
    p.at = now + p.latency;
    changed = true;
  }
  if (dispatch_.empty()) return changed;
  if (pipe_.size() - issued_ >= timing_.store_pipe_queue) {
    read_wait = Wait::scale_queue;
    return changed;
  }
  const Geometry& g = state_.geometry;
  const Dispatch d = dispatch_.front();
  const Command& c = station_.entry(d.slot).command;
  uint32_t row = 0;
  const bool outside = padding(c, row), accumulator = c.first.at.accumulator();
  if (!outside && accumulator) {
    const uint32_t bank = 1u << g.accumulator_bank(static_cast<int>(row));
    // A bank that accumulates has no port left; a row still in the write pipe may not be read.
    if (((ports.accumulator_busy | ports.accumulator_read) & bank) != 0 || state_.accumulator.ready(row) > now) {
      ++port_stalls;
      read_wait = Wait::accumulator_port;
      return changed;
    }
    ports.accumulator_read |= bank;
  } else if (!outside) {
    const uint32_t bank = 1u << g.bank(static_cast<int>(row));
    // A row that a mvout_spad is still bringing is waited for: no dependence holds within the queue of stores.
    if (((ports.spad_written | ports.spad_read) & bank) != 0 || state_.scratchpad.ready(row) > now) {
      ++bank_stalls;
      read_wait = Wait::bank;
      return changed;
    }
    ports.spad_read |= bank;
  }
  dispatch_.pop();
  Tracked& t = tracked_[d.tracked];
  if (--t.left == 0) t.done = now;
  if (c.kind == Kind::store_spad) {
    const Cycle ready = now + timing_.store_spad_latency + timing_.store_latency;
    if (t.left == 0) t.done = ready;  // who reads its rows waits for it
    copy_spad_row(state_, c, d.row, now, ready);
    return true;
  }
  if (d.pooling) {
    if (d.window_row == 0 && d.window_column == 0) pool_provenance_ = 0;
    read_pool_element(state_, c, d.pool_row, d.pool_column, d.window_row, d.window_column, now, pool_, pool_provenance_);
    Piped& p = pipe_.push();
    p.at = now + timing_.store_latency;
    p.latency = outside ? 1 : accumulator ? timing_.store_scale : timing_.store_spad_latency;
    p.last = d.last;
    p.origin = c.origin;
    p.offset = 0;
    p.bytes = pool_bytes(g, c);
    p.provenance = pool_provenance_;
    p.address = pool_address(c, d.pool_row, d.pool_column);
    std::memcpy(p.data, pool_, p.bytes);
    return true;
  }
  Piped& p = pipe_.push();
  p.provenance = 0;
  p.bytes = read_store_block(state_, c, d.row, d.block, now, p.data, p.provenance);
  p.at = now + timing_.store_latency;
  p.latency = accumulator ? timing_.store_scale : timing_.store_spad_latency;
  p.last = d.last;
  p.origin = c.origin;
  p.offset = store_block_offset(g, c, d.block);
  p.address = store_row_address(c, d.row);
  if (p.bytes == 0) pipe_.drop_last();  // only statistics were gathered: nothing is written
  return true;
}

// The writer takes a block; after the last block of its row it writes the row.
void StoreUnit::take_block() {
  const Piped& p = pipe_.front();
  if (p.offset == 0) row_provenance_ = 0;
  std::memcpy(row_ + p.offset, p.data, p.bytes);
  row_provenance_ = static_cast<uint8_t>(row_provenance_ | p.provenance);
  if (p.last) {
    writing_ = true;
    row_address_ = p.address;
    row_origin_ = p.origin;
    row_bytes_ = p.offset + p.bytes;
    sent_ = beats_left_ = 0;
  }
  pipe_.pop();
  --issued_;
}

bool StoreUnit::send_beat(Cycle now) {
  // Beats after the first need a free id too, as in the hardware, unless the packet has the only one.
  out_of_ids = in_flight_ == timing_.writes && (beats_left_ == 0 || in_flight_ > 1);
  if (out_of_ids || bus_.size() >= 4) return false;
  if (beats_left_ == 0 && !tlb_.translates(1, row_address_ + sent_, now)) return false;
  if (beats_left_ == 0) {
    int id = 0;
    while (packets_[id].live) ++id;
    Packet& p = packets_[id];
    const uint64_t address = row_address_ + sent_;
    const int left = row_bytes_ - sent_;
    p.useful = 0;
    int shift = 0;
    for (int size = timing_.bus_bytes; size <= timing_.packet_most; size *= 2) {
      const int offset = static_cast<int>(address & (size - 1));
      const int useful = std::min(size - offset, left);
      if (useful > p.useful) {
        p.size = size;
        p.useful = useful;
        shift = offset;
      }
    }
    p.address = address;
    p.whole = p.size == 64 && shift == 0 && p.useful == p.size;
    p.provenance = row_provenance_;
    p.origin = row_origin_;
    p.live = true;
    std::memcpy(p.data, row_ + sent_, p.useful);
    sent_ += p.useful;
    beats_left_ = std::max(1, p.size / timing_.bus_bytes);
    sending_ = id;
    ++in_flight_;
    ++packets;
  }
  --beats_left_;
  bus_.push(Beat{now + timing_.write_path, sending_, beats_left_ == 0});
  if (beats_left_ == 0 && sent_ == row_bytes_) writing_ = false;
  return true;
}

bool StoreUnit::write(Cycle now) {
  bool changed = false;
  out_of_ids = false;
  if (writing_ && send_beat(now)) changed = true;
  if (!writing_ && issued_ > 0 && pipe_.front().at <= now) {
    take_block();
    changed = true;
  }
  return changed;
}

void StoreUnit::put(int id) {
  const Packet& p = packets_[id];
  Command c;
  c.kind = Kind::store;
  c.origin = p.origin;
  named(c, [&] { memory_.dma_write(p.address, p.useful, p.data, p.provenance); });
  bytes += p.useful;
}

Cycle StoreUnit::next(Cycle now) const {
  Cycle at = kNever;
  if (!bus_.empty()) at = bus_.front().at;
  if (issued_ > 0 && !writing_) at = std::min(at, pipe_.at(0).at);
  if (issued_ < pipe_.size() && issued_ < timing_.store_issue_queue) at = std::min(at, pipe_.at(issued_).at);
  for (const Tracked& t : tracked_)
    if (t.slot >= 0 && t.left == 0) at = std::min(at, t.done + 1);
  return at <= now ? now + 1 : at;
}

}  // namespace strop::gemmini
