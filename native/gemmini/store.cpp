#include <cmath>

#include "gemmini/arithmetic.hpp"
#include "gemmini/state.hpp"

namespace strop::gemmini {

namespace {

int block_columns(const Geometry& g, const Command& store, int block) {
  const int left = store.first.columns - block * g.dim;
  return left < g.dim ? left : g.dim;
}

uint32_t mask_of(int columns) { return columns >= 32 ? 0xFFFFFFFFu : (1u << columns) - 1; }

// Entries before scaling: what GELU, layer norm and softmax make of them.
int32_t pre_activated(const State& s, const Command& c, int32_t q) {
  const NormStatistics& stat = s.norm[c.norm.stat];
  switch (c.store.activation) {
    case Activation::igelu:
      return s.geometry.floating ? as_bits(float_gelu(as_float(q), static_cast<float>(c.norm.qb),
                                                      static_cast<float>(c.norm.qc)))
                                 : integer_gelu(q, c.norm.qb, c.norm.qc);
    case Activation::layernorm:
      return truncated(static_cast<float>(wrapping_subtract(q, stat.mean)) * stat.inverse_stddev);
    case Activation::softmax:
      return scaled(integer_exp(wrapping_subtract(q, stat.max), c.norm), stat.inverse_sum_exp);
    default: return q;
  }
}

bool normalises(Activation activation) {
  return activation == Activation::layernorm || activation == Activation::igelu || activation == Activation::softmax;
}

// Scaled, saturated, activated elements of an accumulator row.
void shrink_row(const State& s, const Command& c, const uint8_t* row, int columns, uint8_t* out) {
  int32_t entry[kMaxDim];
  std::memcpy(entry, row, 4 * columns);
  if (normalises(c.store.activation))
    for (int i = 0; i < columns; i++) entry[i] = pre_activated(s, c, entry[i]);
  const float scale = as_float(c.store.scale_bits);
  const bool relu = c.store.activation == Activation::relu;
  if (s.geometry.floating) {
    for (int i = 0; i < columns; i++) {
      float value = canonical(as_float(entry[i]) * scale);
      if (relu && !(value > 0)) value = 0;
      std::memcpy(out + 4 * i, &value, 4);
    }
    return;
  }
  for (int i = 0; i < columns; i++) {
    const int8_t value = scaled(entry[i], scale);
    out[i] = static_cast<uint8_t>(relu && value < 0 ? 0 : value);
  }
}

const LocalMemory& source(const State& s, const Command& c) {
  return c.first.at.accumulator() ? s.accumulator : s.scratchpad;
}

// One block of one row as it leaves: `columns` elements of row `row` into `out`; bytes.
int read_row(State& s, const Command& c, uint32_t row, int columns, uint64_t now, uint8_t* out, uint8_t& provenance) {
  const LocalMemory& memory = source(s, c);
  require_ready(memory, row, now, c);
  require_written(s, memory, row, mask_of(columns), c, "reads");
  provenance |= memory.provenance(row);
  if (!c.first.at.accumulator()) {
    std::memcpy(out, memory.row(row), columns * s.geometry.element_bytes);
    return columns * s.geometry.element_bytes;
  }
  if (!c.first.at.full_width()) {
    shrink_row(s, c, memory.row(row), columns, out);
    return columns * s.geometry.element_bytes;
  }
  std::memcpy(out, memory.row(row), 4 * columns);
  if (normalises(c.store.activation))
    for (int i = 0; i < columns; i++) {
      int32_t entry;
      std::memcpy(&entry, out + 4 * i, 4);
      entry = pre_activated(s, c, entry);
      std::memcpy(out + 4 * i, &entry, 4);
    }
  return 4 * columns;
}

bool greater(const State& s, const uint8_t* a, const uint8_t* b, int column) {
  if (!s.geometry.floating) return static_cast<int8_t>(a[column]) > static_cast<int8_t>(b[column]);
  float x, y;
  std::memcpy(&x, a + 4 * column, 4);
  std::memcpy(&y, b + 4 * column, 4);
  return x > y;
}

}  // namespace

uint64_t store_row_address(const Command& store, int row) {
  return store.address + static_cast<uint64_t>(row) * store.store.stride;
}

int store_block_bytes(const Geometry& g, const Command& store, int block) {
  const bool full = store.first.at.accumulator() && store.first.at.full_width();
  return block_columns(g, store, block) * (full ? g.accumulator_bytes : g.element_bytes);
}

int store_block_offset(const Geometry& g, const Command&, int block) { return block * g.row_bytes(); }

int read_store_block(State& s, const Command& c, int row, int block, uint64_t now, uint8_t* out, uint8_t& provenance) {
  const int columns = block_columns(s.geometry, c, block);
  if (columns <= 0) return 0;
  const uint32_t from = c.first.at.row() + row + static_cast<uint32_t>(block) * s.geometry.dim;
  if (c.first.at.accumulator()) {
    require_ready(s.accumulator, from, now, c);
    require_written(s, s.accumulator, from, mask_of(columns), c, "reads");
    if (!gather_statistics(s, c, from, columns, block == store_blocks(s.geometry, c) - 1)) return 0;
  }
  return read_row(s, c, from, columns, now, out, provenance);
}

uint64_t pool_address(const Command& c, int pool_row, int pool_column) {
  return c.address + (static_cast<uint64_t>(pool_row) * c.store.pool_out_columns + pool_column) * c.store.stride;
}

int pool_bytes(const Geometry& g, const Command& store) { return store.first.columns * g.element_bytes; }

void read_pool_element(State& s, const Command& c, int pool_row, int pool_column, int window_row, int window_column,
                       uint64_t now, uint8_t* running, uint8_t& provenance) {
  const StoreConfig& st = c.store;
  const int columns = c.first.columns, row = pool_row * st.pool_stride + window_row - st.pool_up,
            column = pool_column * st.pool_stride + window_column - st.pool_left;
  uint8_t element[kMaxRowBytes] = {};  // outside the image: 0
  if (row >= 0 && column >= 0 && row < st.out_rows && column < st.out_columns)
    read_row(s, c, c.first.at.row() + static_cast<uint32_t>(row * st.out_columns + column), columns, now, element,
             provenance);
  const int bytes = s.geometry.element_bytes;
  for (int i = 0; i < columns; i++)
    if ((window_row == 0 && window_column == 0) || greater(s, element, running, i))
      std::memcpy(running + i * bytes, element + i * bytes, bytes);
}

int read_pool_pixel(State& s, const Command& c, int pool_row, int pool_column, uint64_t now, uint8_t* out,
                    uint8_t& provenance) {
  for (int i = 0; i < c.store.pool_size; i++)
    for (int j = 0; j < c.store.pool_size; j++)
      read_pool_element(s, c, pool_row, pool_column, i, j, now, out, provenance);
  return pool_bytes(s.geometry, c);
}

void copy_spad_row(State& s, const Command& c, int row, uint64_t now, uint64_t ready) {
  uint8_t bytes[kMaxRowBytes], provenance = 0;
  const int n = read_store_block(s, c, row, 0, now, bytes, provenance);
  if (n == 0) return;
  const uint32_t to = c.second.at.row() + static_cast<uint32_t>(row) * c.spad_stride;
  std::memcpy(s.scratchpad.row(to), bytes, n);
  s.scratchpad.note_overwritten(to, mask_of(c.first.columns), provenance, ready);
}

}  // namespace strop::gemmini
