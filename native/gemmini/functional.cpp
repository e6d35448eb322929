#include "gemmini/functional.hpp"

#include "gemmini/named_access.hpp"

namespace strop::gemmini {

Functional::Functional(const Geometry& geometry, rocket::Memory& memory, bool strict, uint8_t poison)
    : memory_(memory), state_(geometry, strict, poison), decoder_(geometry, strict), loop_ws_(geometry),
      loop_conv_(geometry) {}

void Functional::reset() {
  state_.reset();
  decoder_.reset();
  loop_ws_.reset();
  loop_conv_.reset();
  counters_.reset();
  index_ = rows_ = 0;
}

rocket::Accepted Functional::issue(const rocket::RoccCommand& c) {
  rocket::Accepted accepted;
  accepted.result = execute(c.funct, c.rs1, c.rs2, c.pc);
  accepted.cycle = accepted.result_cycle = c.cycle;
  return accepted;
}

uint64_t Functional::execute(uint8_t funct, uint64_t rs1, uint64_t rs2, uint64_t pc) {
  Origin origin;
  origin.index = index_++;
  origin.pc = pc;
  const Command c = decoder_.decode(funct, rs1, rs2, origin);
  switch (c.kind) {
    case Kind::counter: return counters_.access(rs1);
    case Kind::loop_ws_setting: loop_ws_.take(c); break;
    case Kind::loop_conv_setting: loop_conv_.take(c); break;
    case Kind::loop_ws:
      loop_ws_.take(c);
      while (loop_ws_.busy()) {
        const Plain* plain = loop_ws_.offer(Full());
        if (plain != nullptr) run_plain(*plain);
        loop_ws_.tick(plain != nullptr);
      }
      break;
    case Kind::loop_conv:
      loop_conv_.take(c);
      while (loop_conv_.busy()) {
        const Plain* plain = loop_conv_.offer(Full());
        if (plain != nullptr) run_plain(*plain);
        loop_conv_.tick(plain != nullptr);
      }
      break;
    default: run(c);
  }
  return 0;
}

void Functional::run_plain(const Plain& plain) {
  Command command = decoder_.decode(plain.funct, plain.rs1, plain.rs2, plain.origin);
  command.spare_rows = plain.spare_rows;
  run(command);
}

// Rows of the local memories that a command touches.
uint64_t Functional::rows_of(const Command& c) const {
  if (c.kind == Kind::store && c.store.pooling())
    return static_cast<uint64_t>(c.store.pool_rows) * c.store.pool_columns * c.store.pool_size * c.store.pool_size;
  if (c.unit == Unit::load) return static_cast<uint64_t>(c.first.rows) * load_blocks(state_.geometry, c);
  if (c.unit == Unit::store) return static_cast<uint64_t>(c.first.rows) * store_blocks(state_.geometry, c);
  return static_cast<uint64_t>(state_.geometry.dim);
}

void Functional::run(const Command& c) {
  rows_ += rows_of(c);
  if (rows_ > most_rows_) refuse(c, "more than " + std::to_string(most_rows_) + " rows have been moved and fed");
  switch (c.kind) {
    case Kind::load: load(c); break;
    case Kind::store:
      if (c.store.pooling())
        pool(c);
      else
        store(c);
      break;
    case Kind::store_spad:
      for (int row = 0; row < c.first.rows; row++) copy_spad_row(state_, c, row, 0, 0);
      break;
    case Kind::preload: feed_preload(state_, c, 0); break;
    case Kind::compute_preloaded:
    case Kind::compute_accumulated: step(c); break;
    default: break;  // configurations are the decoder's; flush and clock gating change nothing here
  }
}

void Functional::load(const Command& c) {
  const int n = load_row_bytes(state_.geometry, c);
  uint8_t bytes[kMaxDim * kMaxRowBytes], provenance = 0;
  state_.work.loads++;
  counters_.count(Event::load_active, c.first.rows);
  counters_.count(Event::load_cycles, c.first.rows);
  if (n == 0) return;
  for (int row = 0; row < used_rows(c); row++) {
    if (c.address == 0) {
      write_load_row(state_, c, row, nullptr, 0, 0);
      state_.work.zero_rows++;
      continue;
    }
    if (row == 0 || c.load.stride != 0) {  // a stride of 0 repeats the first row
      const uint64_t address = load_row_address(c, row);
      named(c, [&] { memory_.dma_read(address, n, bytes); });
      provenance = memory_.provenance(address, n);
      state_.work.load_bytes += n;
      counters_.count(Event::read_dma_active);
      counters_.add(Shown::bytes_read, n);
    }
    write_load_row(state_, c, row, bytes, provenance, 0);
  }
}

void Functional::store(const Command& c) {
  const int blocks = store_blocks(state_.geometry, c);
  uint8_t bytes[kMaxDim * kMaxRowBytes];
  state_.work.stores++;
  counters_.count(Event::store_active, static_cast<uint64_t>(c.first.rows) * blocks);
  counters_.count(Event::store_cycles, static_cast<uint64_t>(c.first.rows) * blocks);
  for (int row = 0; row < c.first.rows; row++) {
    uint8_t provenance = 0;
    int n = 0;
    for (int block = 0; block < blocks; block++) n += read_store_block(state_, c, row, block, 0, bytes + n, provenance);
    if (n == 0) continue;  // a norm command that only gathers
    named(c, [&] { memory_.dma_write(store_row_address(c, row), n, bytes, provenance); });
    state_.work.store_bytes += n;
    counters_.count(Event::write_dma_active);
    counters_.add(Shown::bytes_written, n);
  }
}

void Functional::pool(const Command& c) {
  state_.work.stores++;
  uint8_t bytes[kMaxRowBytes];
  for (int i = 0; i < c.store.pool_rows; i++)
    for (int j = 0; j < c.store.pool_columns; j++) {
      uint8_t provenance = 0;
      const int n = read_pool_pixel(state_, c, i, j, 0, bytes, provenance);
      if (n == 0) continue;
      named(c, [&] { memory_.dma_write(pool_address(c, i, j), n, bytes, provenance); });
      state_.work.store_bytes += n;
      counters_.count(Event::store_pooling, static_cast<uint64_t>(c.store.pool_size) * c.store.pool_size);
      counters_.count(Event::write_dma_active);
      counters_.add(Shown::bytes_written, n);
    }
}

void Functional::step(const Command& c) {
  compute(state_, c, 0, result_);
  require_result_rows(state_, c, result_);
  for (int row = 0; row < result_.rows; row++) write_result_row(state_, result_, row, 0);
  counters_.count(Event::execute_active, state_.geometry.dim);
  counters_.count(Event::execute_cycles, state_.geometry.dim);
}

}  // namespace strop::gemmini
