// The commands that the makers of a matmul loop give.
#include <algorithm>

#include "gemmini/loop_ws.hpp"

namespace strop::gemmini {

namespace {

uint64_t packed(uint32_t word, uint64_t columns, uint64_t rows) { return rows << 48 | columns << 32 | word; }

}  // namespace

void LoopWs::make(Maker m) {
  const Work& w = work_[m];
  Loop& loop = loops_[w.loop];
  plain_ = Plain();
  plain_.origin = w.of.origin;
  plain_.origin.unrolled = loop.made + 1;
  const int most = geometry_.max_blocks(), bytes = geometry_.element_bytes;
  const uint32_t accumulator = sum_ ? LocalAddress::kAccumulator : 0;
  if (m == kA) {
    const bool turned = w.of.a_transpose;
    make_load(w, kLoad, w.of.a, w.of.a_stride, bytes, most, turned ? w.k : w.i, turned ? w.i : w.k,
              turned ? w.of.k : w.of.i, turned ? w.of.i : w.of.k, turned ? w.of.pad_k : w.of.pad_i,
              turned ? w.of.pad_i : w.of.pad_k, accumulator);
  } else if (m == kB) {
    const bool turned = w.of.b_transpose;
    // The hardware compares the last row with itself and never sees it: whole tiles of B are read, past a padded edge.
    const uint32_t row = turned ? w.j : w.k, rows = turned ? w.of.j : w.of.k, pad = turned ? w.of.pad_j : w.of.pad_k;
    if (geometry_.reads_padding_of_b && row == rows - 1) plain_.spare_rows = static_cast<int>(pad);
    make_load(w, kLoad2, w.of.b, w.of.b_stride, bytes, most, row, turned ? w.k : w.j, rows,
              turned ? w.of.k : w.of.j, geometry_.reads_padding_of_b ? 0 : pad, turned ? w.of.pad_k : w.of.pad_j,
              sum_ ? accumulator | LocalAddress::kAccumulate : 0);
  } else if (m == kD) {
    make_load(w, kLoad3, w.of.d, w.of.d_stride, w.of.low_d ? bytes : geometry_.accumulator_bytes,
              w.of.low_d ? most : geometry_.max_accumulator_blocks(), w.i, w.j, w.of.i, w.of.j, w.of.pad_i, w.of.pad_j,
              LocalAddress::kAccumulator);
  } else if (m == kEx) {
    make_execute(w);
  } else {
    make_store(w);
  }
}

void LoopWs::make_load(const Work& w, uint8_t funct, uint64_t base, uint64_t stride, int element_bytes, int most,
                       uint32_t row, uint32_t column, uint32_t rows, uint32_t columns, uint32_t row_pad,
                       uint32_t column_pad, uint32_t address_bits) {
  const uint32_t dim = geometry_.dim, n = blocks(most, column, columns);
  const uint64_t offset = (row * stride + column) * dim * element_bytes;
  plain_.funct = funct;
  plain_.unit = Unit::load;
  plain_.rs1 = base + (offset & 0xFFFFFFFF);
  plain_.rs2 = packed(address_bits | (w.start + (row * columns + column) * dim),
                      n * dim - (column + n >= columns ? column_pad : 0), dim - (row == rows - 1 ? row_pad : 0));
}

void LoopWs::make_execute(const Work& w) {
  const uint32_t dim = geometry_.dim;
  const Loop& of = w.of;
  const uint32_t rows = dim - (w.i == of.i - 1 ? of.pad_i : 0), columns = dim - (w.j == of.j - 1 ? of.pad_j : 0),
                 depth = dim - (w.k == of.k - 1 ? of.pad_k : 0);
  const uint32_t a = w.a_start + (of.a_transpose ? w.k * of.i + w.i : w.i * of.k + w.k) * dim;
  const uint32_t b = w.b_start + (of.b_transpose ? w.j * of.k + w.k : w.k * of.j + w.j) * dim;
  const uint32_t c = (w.start + (w.i * of.j + w.j) * dim) | LocalAddress::kAccumulator |
                     (of.accumulate || w.k != 0 ? LocalAddress::kAccumulate : 0);
  plain_.unit = Unit::execute;
  if (!w.computing) {  // B is fed for the first i only and kept for the others
    plain_.funct = kPreload;
    plain_.rs1 = packed(w.i == 0 ? b : LocalAddress::kGarbage, columns, depth);
    plain_.rs2 = packed(c, columns, rows);
  } else {
    plain_.funct = w.i == 0 ? kComputePreloaded : kComputeAccumulated;
    plain_.rs1 = packed(a, depth, rows);
    plain_.rs2 = packed(LocalAddress::kGarbage, dim, dim);
  }
}

void LoopWs::make_store(const Work& w) {
  const uint32_t dim = geometry_.dim, element = w.of.full_c ? geometry_.accumulator_bytes : geometry_.element_bytes;
  const uint32_t n = blocks(w.of.full_c || w.to_spad ? 1 : geometry_.max_blocks(), w.j, w.of.j);
  const uint32_t columns = n * dim - (w.j + n >= w.of.j ? w.of.pad_j : 0);
  const uint32_t rows = dim - (w.i == w.of.i - 1 ? w.of.pad_i : 0);
  uint32_t from = (w.start + (w.i * w.of.j + w.j) * dim) | LocalAddress::kAccumulator |
                  (w.of.full_c ? LocalAddress::kFullWidth : 0);
  plain_.unit = Unit::store;
  if (w.to_spad) {
    plain_.funct = kStoreSpad;
    plain_.rs1 = uint64_t{1} << 32 | (w.of.c_spad + (w.i * w.of.j + w.j) * dim);
    plain_.rs2 = packed(from, columns, rows);
    return;
  }
  uint64_t offset = (w.i * w.of.c_stride + w.j) * dim * element;
  if (!normalising(w)) {
    plain_.funct = kStore;
    plain_.rs1 = w.of.c + (offset & 0xFFFFFFFF);
    plain_.rs2 = packed(from, columns, rows);
    return;
  }
  if (w.configuring) {  // statistics w.stat, nothing else
    plain_.funct = kConfig;
    plain_.rs1 = uint64_t{1} << 17 | uint64_t{w.stat} << 8 | 3;
    return;
  }
  using N = NormCommand;
  static constexpr N kLayer[3][2] = {{N::sum, N::mean}, {N::variance, N::inverse_stddev}, {N::reset, N::reset}};
  static constexpr N kSoft[3][2] = {{N::max, N::max}, {N::sum_exp, N::inverse_sum_exp}, {N::reset, N::reset}};
  const bool layer = static_cast<Activation>(w.of.activation) == Activation::layernorm;
  const bool last = w.j + std::min<uint32_t>(geometry_.max_blocks(), w.of.j) >= w.of.j;
  const N command = (layer ? kLayer : kSoft)[w.command][last ? 1 : 0];
  const uint32_t r = w.row + w.stat;
  offset += static_cast<uint64_t>(r) * w.of.c_stride * element;
  from += r;
  plain_.funct = kStore;
  plain_.rs1 = w.of.c + (offset & 0xFFFFFFFF);
  plain_.rs2 = packed(from | static_cast<uint32_t>(command) << 26, columns, 1);
}

}  // namespace strop::gemmini
