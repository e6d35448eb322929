#include "gemmini/arithmetic.hpp"
#include "gemmini/state.hpp"

namespace strop::gemmini {

namespace {

int source_bytes(const Geometry& g, const Command& load) {  // of one element in memory
  return load.first.at.accumulator() && !load.load.shrink ? g.accumulator_bytes : g.element_bytes;
}

int block_columns(const Geometry& g, const Command& load, int block) {
  const int left = load.first.columns - block * g.dim;
  return left < g.dim ? left : g.dim;
}

uint32_t mask_of(int columns) { return columns >= 32 ? 0xFFFFFFFFu : (1u << columns) - 1; }

int8_t element_at(const uint8_t* bytes, int column) { return static_cast<int8_t>(bytes[column]); }

int32_t word_at(const uint8_t* bytes, int column) {
  int32_t word;
  std::memcpy(&word, bytes + 4 * column, 4);
  return word;
}

float scaled_float(int32_t bits, float scale, bool identity) {
  return identity ? as_float(bits) : canonical(as_float(bits) * scale);
}

void write_scratchpad_block(State& s, const Command& c, uint32_t row, int columns, const uint8_t* bytes,
                            uint8_t provenance, uint64_t ready) {
  const Geometry& g = s.geometry;
  const float scale = as_float(c.load.scale_bits);
  const bool identity = scale == 1.0f;
  uint8_t image[kMaxRowBytes];
  const int n = columns * g.element_bytes;
  if (bytes == nullptr) {
    std::memset(image, 0, n);
  } else if (identity) {
    std::memcpy(image, bytes, n);
  } else if (g.floating) {
    for (int i = 0; i < columns; i++) {
      const float value = scaled_float(word_at(bytes, i), scale, identity);
      std::memcpy(image + 4 * i, &value, 4);
    }
  } else {
    for (int i = 0; i < columns; i++) image[i] = static_cast<uint8_t>(scaled(element_at(bytes, i), scale));
  }
  // Repeated pixels: copy p goes p rows down and p * columns to the right.
  const uint32_t floor = repeat_floor(g, row);
  for (int p = 0; p < c.load.pixel_repeats; p++) {
    if (row < floor + static_cast<uint32_t>(p)) break;
    std::memcpy(s.scratchpad.row(row - p) + p * n, image, n);
    s.scratchpad.note_overwritten(row - p, mask_of(columns) << (p * columns), provenance, ready);
  }
}

void write_accumulator_block(State& s, const Command& c, uint32_t row, int columns, const uint8_t* bytes,
                             uint8_t provenance, uint64_t ready) {
  const Geometry& g = s.geometry;
  const float scale = as_float(c.load.scale_bits);
  const bool identity = scale == 1.0f;
  int32_t value[kMaxDim];
  if (bytes == nullptr) {
    std::memset(value, 0, sizeof value);
  } else if (g.floating) {
    for (int i = 0; i < columns; i++) value[i] = as_bits(scaled_float(word_at(bytes, i), scale, identity));
  } else if (c.load.shrink) {
    for (int i = 0; i < columns; i++)
      value[i] = identity ? element_at(bytes, i) : scaled(element_at(bytes, i), scale);
  } else {
    std::memcpy(value, bytes, 4 * columns);  // full entries aren't scaled (mvin_scale_acc_args is None)
  }
  const uint32_t mask = mask_of(columns);
  if (!c.first.at.accumulate()) {
    std::memcpy(s.accumulator.row(row), value, 4 * columns);
    s.accumulator.note_overwritten(row, mask, provenance, ready);
    return;
  }
  require_written(s, s.accumulator, row, mask, c, "adds to");
  add_to_row(g, s.accumulator.row(row), value, columns);
  s.accumulator.note_accumulated(row, mask, provenance, ready);
}

}  // namespace

void require_written(const State& s, const LocalMemory& memory, uint32_t row, uint32_t columns, const Command& reader,
                     const char* verb) {
  if (!s.strict || (memory.written(row) & columns) == columns) return;
  int column = 0;
  while ((memory.written(row) >> column & 1) != 0 || (columns >> column & 1) == 0) column++;
  refuse(reader, std::string(verb) + " row " + std::to_string(row) + " of the " +
                     (&memory == &s.accumulator ? "accumulator" : "scratchpad") + ", whose column " +
                     std::to_string(column) + " was never written");
}

void require_ready(const LocalMemory& memory, uint32_t row, uint64_t now, const Command& reader) {
  if (memory.ready(row) > now)
    throw std::logic_error("internal: " + describe(reader) + " reads row " + std::to_string(row) + " at cycle " +
                           std::to_string(now) + ", which is ready at " + std::to_string(memory.ready(row)));
}

void add_to_row(const Geometry& g, uint8_t* row, const int32_t* value, int columns) {
  int32_t entry[kMaxDim];
  std::memcpy(entry, row, 4 * columns);
  if (g.floating)
    for (int i = 0; i < columns; i++) entry[i] = as_bits(canonical(as_float(entry[i]) + as_float(value[i])));
  else
    for (int i = 0; i < columns; i++) entry[i] = wrapping_add(entry[i], value[i]);
  std::memcpy(row, entry, 4 * columns);
}

int load_row_bytes(const Geometry& g, const Command& load) { return load.first.columns * source_bytes(g, load); }

int load_block_bytes(const Geometry& g, const Command& load, int block) {
  return block_columns(g, load, block) * source_bytes(g, load);
}

uint64_t load_row_address(const Command& load, int row) {
  return load.address + static_cast<uint64_t>(row) * load.load.stride;
}

void write_load_block(State& s, const Command& c, int row, int block, const uint8_t* bytes, uint8_t provenance,
                      uint64_t ready) {
  const int columns = block_columns(s.geometry, c, block);
  if (columns <= 0 || row >= used_rows(c)) return;
  const uint32_t to = c.first.at.row() + row + static_cast<uint32_t>(block) * c.load.block_stride;
  if (c.first.at.accumulator())
    write_accumulator_block(s, c, to, columns, bytes, provenance, ready);
  else
    write_scratchpad_block(s, c, to, columns, bytes, provenance, ready);
}

void write_load_row(State& s, const Command& c, int row, const uint8_t* bytes, uint8_t provenance, uint64_t ready) {
  const int blocks = load_blocks(s.geometry, c), step = s.geometry.dim * source_bytes(s.geometry, c);
  for (int block = 0; block < blocks; block++)
    write_load_block(s, c, row, block, bytes == nullptr ? nullptr : bytes + block * step, provenance, ready);
}

}  // namespace strop::gemmini
