#include "gemmini/load_unit.hpp"

#include <algorithm>
#include <cstring>

#include "gemmini/named_access.hpp"

namespace strop::gemmini {

LoadUnit::LoadUnit(const Timing& timing, State& state, rocket::Memory& memory, ReservationStation& station,
                   Tlb& tlb)
    : timing_(timing), state_(state), memory_(memory), station_(station), tlb_(tlb), tracked_(timing.load_commands),
      rows_buffer_(timing.requests + 2), packets_(timing.requests), pending_spad_(state.geometry.rows()),
      pending_accumulator_(state.geometry.accumulator_rows()) {
  reset();
}

void LoadUnit::reset() {
  queue_.clear();
  std::fill(tracked_.begin(), tracked_.end(), Tracked());
  live_commands_ = in_flight_ = row_ = rows_ = cut_bytes_ = repeat_ = zero_block_ = 0;
  current_ = cutting_ = translated_ = looked_up_ = -1;
  idle_next_ = zero_live_ = active = false;
  requests_.clear();
  for (Packet& p : packets_) p.live = false;
  row_free_.clear();
  for (int i = static_cast<int>(rows_buffer_.size()) - 1; i >= 0; --i) row_free_.push_back(i);
  bus_.clear();
  landing_.clear();
  landing_free_ = 0;
  std::fill(pending_spad_.begin(), pending_spad_.end(), 0);
  std::fill(pending_accumulator_.begin(), pending_accumulator_.end(), 0);
  wait = Wait::none;
  bytes = packets = retries = bank_stalls = zero_rows = 0;
  out_of_ids = false;
}

void LoadUnit::mark(const Command& command, int by) {
  const RowRange range = written_by_load(state_.geometry, command);
  auto& pending = range.accumulator ? pending_accumulator_ : pending_spad_;
  const uint32_t end = std::min<uint32_t>(range.end, static_cast<uint32_t>(pending.size()));
  for (uint32_t r = range.start; r < end; ++r) pending[r] = static_cast<uint16_t>(pending[r] + by);
}

int LoadUnit::block_bytes(const Command& command) const {
  const Geometry& g = state_.geometry;
  return command.first.at.accumulator() && !command.load.shrink ? g.accumulator_row_bytes() : g.row_bytes();
}

int LoadUnit::find_finished(Cycle now) const {
  for (size_t i = 0; i < tracked_.size(); ++i)
    if (tracked_[i].slot >= 0 && tracked_[i].bytes_left == 0 && tracked_[i].done < now) return tracked_[i].slot;
  return -1;
}

void LoadUnit::finish(Cycle, int slot) {
  for (Tracked& t : tracked_)
    if (t.slot == slot) {
      mark(station_.entry(slot).command, -1);
      t.slot = -1;
      --live_commands_;
      return;
    }
}

// The controller: one row a cycle while the queue of requests has room.
bool LoadUnit::control(Cycle now) {
  wait = Wait::none;
  active = current_ >= 0 || live_commands_ != 0;
  if (current_ < 0) {
    if (queue_.empty()) return false;
    if (idle_next_) {  // a command of one row spends a second cycle in the state that sends rows
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
    current_ = free;
    row_ = 0;
    const bool repeats = c.load.stride == 0 && c.address != 0;
    rows_ = repeats ? 1 : c.first.rows;
    Tracked& t = tracked_[free];
    t.slot = slot;
    t.bytes_left = static_cast<int64_t>(load_row_bytes(state_.geometry, c)) * rows_;
    t.done = 0;
    ++live_commands_;
    mark(c, 1);
    active = true;
    if (t.bytes_left == 0) {  // nothing to move: legal only in the untimed model
      t.done = now;
      current_ = -1;
      queue_.pop();
      return true;
    }
  }
  const Command& c = command(current_);
  const bool zeros = c.address == 0;
  if (zeros ? zero_live_ : requests_.size() >= timing_.request_queue) {
    wait = zeros ? Wait::bank : Wait::memory;
    return false;
  }
  Request r;
  r.tracked = current_;
  r.row = row_;
  r.zeros = zeros;
  r.repeats = c.load.stride == 0 && !zeros ? c.first.rows - 1 : 0;
  if (zeros) {
    zero_ = r;
    zero_live_ = true;
    zero_block_ = 0;
  } else {
    requests_.push(r);
  }
  if (++row_ == rows_) {
    current_ = -1;
    idle_next_ = rows_ == 1;
    queue_.pop();
  }
  return true;
}

// Picks the smallest packet that returns the most useful bytes of what is left of the row.
bool LoadUnit::next_packet(Cycle) {
  Row& row = rows_buffer_[cutting_];
  int id = -1;
  if (in_flight_ < timing_.requests)
    for (size_t i = 0; i < packets_.size() && id < 0; ++i)
      if (!packets_[i].live) id = static_cast<int>(i);
  if (id < 0) {
    out_of_ids = true;
    return false;
  }
  const uint64_t address = load_row_address(command(row.request.tracked), row.request.row) + cut_bytes_;
  const int left = row.bytes - cut_bytes_;
  Packet& p = packets_[id];
  p.useful = 0;
  for (int size = timing_.bus_bytes; size <= timing_.packet_most; size *= 2) {
    const int shift = static_cast<int>(address & (size - 1));
    const int useful = std::min(size - shift, left);
    if (useful > p.useful) {
      p.size = size;
      p.shift = shift;
      p.useful = useful;
    }
  }
  p.address = address - p.shift;
  p.offset = cut_bytes_;
  p.row = cutting_;
  p.beats = p.landed = 0;
  p.live = true;
  ++in_flight_;
  ++packets;
  ++row.left;
  cut_bytes_ += p.useful;
  translated_ = id;
  if (cut_bytes_ == row.bytes) {
    row.cut = true;
    cutting_ = -1;
  }
  return true;
}

bool LoadUnit::packetise(Cycle now) {
  bool changed = false;
  out_of_ids = false;
  // Second stage to the bus buffer; refused packets go round again, before new ones.
  int retry = -1;
  if (looked_up_ >= 0) {
    if (bus_.size() < 2 && tlb_.translates(0, packets_[looked_up_].address, now)) {
      bus_.push(OnPath{now + timing_.request_path - 2, looked_up_});
      changed = true;
    } else {
      retry = looked_up_;
      ++retries;
    }
  }
  if (looked_up_ != translated_) changed = true;
  looked_up_ = translated_;
  translated_ = retry;
  if (retry < 0) {
    if (cutting_ >= 0 && next_packet(now)) changed = true;
  }
  // The next row is taken in the cycle in which the last packet of the one before leaves.
  if (cutting_ < 0 && !requests_.empty() && !row_free_.empty()) {
    cutting_ = row_free_.back();
    row_free_.pop_back();
    Row& row = rows_buffer_[cutting_];
    row.request = requests_.front();
    requests_.pop();
    const Command& c = command(row.request.tracked);
    row.bytes = load_row_bytes(state_.geometry, c);
    row.left = 0;
    row.cut = false;
    row.provenance = 0;
    const int blocks = load_blocks(state_.geometry, c);
    for (int b = 0; b < blocks; ++b) row.missing[b] = load_block_bytes(state_.geometry, c, b);
    cut_bytes_ = 0;
    changed = true;
  }
  return changed;
}

void LoadUnit::sample(int id) {
  const Packet& p = packets_[id];
  Row& row = rows_buffer_[p.row];
  const uint64_t address = p.address + p.shift;
  if (row.request.row >= used_rows(command(row.request.tracked))) return;  // fetched for nothing
  named(command(row.request.tracked), [&] { memory_.dma_read(address, p.useful, row.data + p.offset); });
  row.provenance = static_cast<uint8_t>(row.provenance | memory_.provenance(address, p.useful));
  bytes += p.useful;
}

// A beat brings bytes; a block of a row leaves for its bank when its last byte, or the packet's, is there.
void LoadUnit::beat(Cycle now, int id) {
  Packet& p = packets_[id];
  ++p.beats;
  const int read = p.beats * timing_.bus_bytes;
  const int useful = std::clamp(read - p.shift, 0, p.useful);
  Row& row = rows_buffer_[p.row];
  const int width = block_bytes(command(row.request.tracked));
  while (p.landed < useful) {
    const int at = p.offset + p.landed;
    const int end = std::min((at / width + 1) * width, p.offset + p.useful);
    if (p.offset + useful < end) break;
    Landing& l = landing_.push();
    l.at = now + timing_.landing;
    l.row = p.row;
    l.block = at / width;
    l.bytes = end - at;
    p.landed = end - p.offset;
    l.last_of_packet = p.landed == p.useful;
  }
  if (read >= p.size) {
    p.live = false;
    --in_flight_;
  }
}

bool LoadUnit::land(Cycle now, Ports& ports) {
  const Geometry& g = state_.geometry;
  if (!landing_.empty() && landing_.front().at <= now && landing_free_ <= now) {
    const Landing l = landing_.front();
    Row& row = rows_buffer_[l.row];
    Tracked& t = tracked_[row.request.tracked];
    const Command& c = station_.entry(t.slot).command;
    const uint32_t to =
        c.first.at.row() + row.request.row + repeat_ + static_cast<uint32_t>(l.block) * c.load.block_stride;
    const bool accumulator = c.first.at.accumulator();
    const uint32_t bank = 1u << (accumulator ? g.accumulator_bank(static_cast<int>(to)) : g.bank(static_cast<int>(to)));
    uint32_t& written = accumulator ? ports.accumulator_written : ports.spad_written;
    const bool row_in_pipe = accumulator && c.first.at.accumulate() && state_.accumulator.ready(to) > now;
    if ((written & bank) != 0 || row_in_pipe) {
      ++bank_stalls;
    } else {
      written |= bank;
      if (accumulator && c.first.at.accumulate()) ports.accumulator_busy |= bank;
      if (repeat_ == 0) row.missing[l.block] -= l.bytes;
      if (row.missing[l.block] == 0) {
        const Cycle ready = accumulator ? now + 1 + timing_.accumulator_latency : now + 1;
        write_load_block(state_, c, row.request.row + repeat_, l.block, row.data + l.block * block_bytes(c),
                         row.provenance, ready);
      }
      // Four multipliers scale a row in four cycles; a scale of one passes by them, whole entries have no scaling.
      const bool scaled = c.load.scale_bits != 0x3F800000 && !(accumulator && !c.load.shrink) && !g.floating;
      const int cycles = std::max(scaled ? (g.dim + timing_.scale_units - 1) / timing_.scale_units : 1,
                                  accumulator ? 1 : c.load.pixel_repeats);
      landing_free_ = now + cycles;
      if (repeat_ < row.request.repeats && row.missing[l.block] == 0) {
        ++repeat_;
      } else {
        repeat_ = 0;
        t.bytes_left -= l.bytes;
        if (t.bytes_left == 0) t.done = now;
        if (l.last_of_packet && --row.left == 0 && row.cut) row_free_.push_back(l.row);
        landing_.pop();
      }
      return true;
    }
  }
  if (!zero_live_) return false;
  // Zero-fill: a block of a row a cycle, after everything else.
  Tracked& t = tracked_[zero_.tracked];
  const Command& c = station_.entry(t.slot).command;
  const uint32_t to = c.first.at.row() + zero_.row + static_cast<uint32_t>(zero_block_) * c.load.block_stride;
  const bool accumulator = c.first.at.accumulator();
  const uint32_t bank = 1u << (accumulator ? g.accumulator_bank(static_cast<int>(to)) : g.bank(static_cast<int>(to)));
  uint32_t& written = accumulator ? ports.accumulator_written : ports.spad_written;
  if ((written & bank) != 0 || (accumulator && c.first.at.accumulate() && state_.accumulator.ready(to) > now)) {
    ++bank_stalls;
    return false;
  }
  written |= bank;
  if (accumulator && c.first.at.accumulate()) ports.accumulator_busy |= bank;
  write_load_block(state_, c, zero_.row, zero_block_, nullptr, 0,
                   accumulator ? now + 1 + timing_.accumulator_latency : now + 1);
  t.bytes_left -= load_block_bytes(g, c, zero_block_);
  ++zero_rows;
  if (++zero_block_ == load_blocks(g, c)) zero_live_ = false;
  if (t.bytes_left == 0) t.done = now;
  return true;
}

Cycle LoadUnit::next(Cycle now) const {
  Cycle at = kNever;
  if (!bus_.empty()) at = bus_.front().at;
  if (!landing_.empty()) at = std::min(at, std::max(landing_.front().at, landing_free_));
  for (const Tracked& t : tracked_)
    if (t.slot >= 0 && t.bytes_left == 0) at = std::min(at, t.done + 1);
  return at <= now ? now + 1 : at;
}

}  // namespace strop::gemmini
