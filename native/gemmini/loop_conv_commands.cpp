// The commands that the makers of a convolution loop give, and how each goes on.
#include <algorithm>

#include "gemmini/loop_conv.hpp"

namespace strop::gemmini {

namespace {

uint64_t packed(uint32_t word, int columns, int rows) {
  return static_cast<uint64_t>(rows & 0xFFFF) << 48 | static_cast<uint64_t>(columns & 0xFFFF) << 32 | word;
}

uint64_t config_load(int id, int block_stride, int pixels) {
  return uint64_t{0x3F800000} << 32 | static_cast<uint64_t>(block_stride & 0xFFFF) << 16 |
         static_cast<uint64_t>(pixels & 0xFF) << 8 | static_cast<uint64_t>(id) << 3 | 1;
}

int floor_add(int u, int n, int end, int from = 0) { return u + n > end - 1 ? from : u + n; }
int undilated(int x, bool dilated) { return dilated ? (x + 1) >> 1 : x; }
uint64_t low(int64_t offset) { return static_cast<uint64_t>(offset) & 0xFFFFFFFF; }  // castDramOffset

}  // namespace

int LoopConv::bias_chunk(const Loop& of) const {
  return std::min(of.ochs, geometry_.max_accumulator_blocks() * geometry_.dim);
}
int LoopConv::input_chunk(const Loop& of) const {
  return std::min(of.input_3120 ? of.batches : of.kchs, geometry_.max_blocks() * geometry_.dim);
}
int LoopConv::weight_chunk(const Loop& of) const {
  return std::min(of.weight_0132 ? of.kchs : of.ochs, geometry_.max_blocks() * geometry_.dim);
}

Plain LoopConv::made(Maker m) {
  const Work& w = work_[m];
  Plain p;
  p.origin = w.of.origin;
  p.origin.unrolled = ++loops_[w.loop].made;
  switch (m) {
    case kBias: make_bias(w, p); break;
    case kInput: make_input(w, p); break;
    case kWeights: make_weights(w, p); break;
    case kEx: make_execute(w, p); break;
    case kSt: make_store(w, p); break;
  }
  return p;
}

void LoopConv::make_bias(const Work& w, Plain& p) const {
  const Loop& of = w.of;
  p.unit = Unit::load;
  if (w.step == Step::config) {
    p.funct = kConfig;
    p.rs1 = config_load(2, of.bias_span, 1);
    return;
  }
  const int chunk = bias_chunk(of);
  p.funct = kLoad3;
  p.rs1 = of.no_bias ? 0 : of.bias + low(static_cast<int64_t>(w.och) * geometry_.accumulator_bytes);
  const uint32_t row = w.start + (w.och / geometry_.dim) * of.bias_span + (w.b * of.orows + w.orow) * of.ocols + w.ocol;
  p.rs2 = packed(row | LocalAddress::kAccumulator, std::min(of.ochs - w.och, chunk),
                 std::min(of.ocols - w.ocol, geometry_.dim));
}

int LoopConv::input_columns(const Work& w) const {  // of the image, in one mvin
  const Loop& of = w.of;
  const int dim = geometry_.dim;
  if (w.icol < 0) return std::min(-w.icol, dim);
  if (w.icol >= of.icols_unpadded) return std::min(of.icols_unpadded + undilated(of.rpad, of.dilated) - w.icol, dim);
  return std::min(of.icols_unpadded - w.icol, dim << of.downsample);
}

void LoopConv::make_input(const Work& w, Plain& p) const {
  const Loop& of = w.of;
  const int bytes = geometry_.element_bytes;
  p.unit = Unit::load;
  if (w.step == Step::config) {
    p.funct = kConfig;
    p.rs1 = config_load(0, of.input_span, of.pixels);
    p.rs2 = static_cast<uint64_t>((of.input_3120 ? of.batch_size : of.in_stride) * bytes) << of.downsample;
    return;
  }
  const bool outside = w.irow < 0 || w.irow >= of.irows_unpadded || w.icol < 0 || w.icol >= of.icols_unpadded;
  const int64_t pixel = static_cast<int64_t>(w.irow) * of.in_columns + w.icol,
                image = static_cast<int64_t>(of.in_rows) * of.in_columns;
  const int64_t offset = of.input_3120 ? ((w.ich * image + pixel) * of.batches + w.b) * bytes
                                       : ((w.b * image + pixel) * of.in_stride + w.ich) * bytes;
  const int irows = of.irows >> of.downsample, icols = of.icols >> of.downsample;
  const int row = (w.irow + undilated(of.upad, of.dilated)) >> of.downsample,
            column = (w.icol + undilated(of.lpad, of.dilated)) >> of.downsample;
  const int first = of.input_3120 ? w.b / geometry_.dim : w.ich / geometry_.dim, second = of.input_3120 ? w.ich : w.b;
  p.funct = kLoad;
  p.rs1 = outside ? 0 : of.input + low(offset);
  p.rs2 = packed(w.a_start + first * of.input_span + (second * irows + row) * icols + column,
                 std::min(of.input_3120 ? of.batches - w.b : of.kchs - w.ich, input_chunk(of)),
                 input_columns(w) >> of.downsample);
}

void LoopConv::make_weights(const Work& w, Plain& p) const {
  const Loop& of = w.of;
  const int bytes = geometry_.element_bytes, dim = geometry_.dim;
  p.unit = Unit::load;
  if (w.step == Step::config) {
    const int64_t stride = of.depthwise     ? 1
                           : of.weight_1203 ? static_cast<int64_t>(of.kernel) * of.kernel * of.out_channels
                           : of.weight_0132 ? of.in_channels
                                            : of.weight_stride;
    p.funct = kConfig;
    p.rs1 = config_load(1, of.weight_span, 1);
    p.rs2 = static_cast<uint64_t>(stride * bytes);
    return;
  }
  const int64_t at = static_cast<int64_t>(w.krow) * of.kernel + w.kcol;
  const int64_t offset =
      of.depthwise     ? at
      : of.weight_1203 ? (static_cast<int64_t>(w.kch) * of.kernel * of.kernel + at) * of.out_channels + w.och
      : of.weight_0132 ? (at * of.out_channels + w.och) * of.in_channels + w.kch
                       : (at * of.in_channels + w.kch) * of.weight_stride + w.och;
  const int chunk = weight_chunk(of), place = w.krow * of.kcols + w.kcol;
  p.funct = kLoad2;
  p.rs1 = of.weights + low(offset * bytes);
  if (of.weight_0132)
    p.rs2 = packed(w.b_start + (w.kch / dim) * of.weight_span + place * of.ochs + w.och,
                   std::min(of.kchs - w.kch, chunk), std::min(of.ochs - w.och, dim));
  else
    p.rs2 = packed(w.b_start + (w.och / dim) * of.weight_span + place * of.kchs + w.kch,
                   std::min(of.ochs - w.och, chunk), std::min(of.kchs - w.kch, dim));
}

void LoopConv::make_execute(const Work& w, Plain& p) const {
  const Loop& of = w.of;
  const int dim = geometry_.dim;
  p.unit = Unit::execute;
  if (w.step == Step::config) {  // strides only
    p.funct = kConfig;
    p.rs1 = static_cast<uint64_t>(of.irows * of.icols & 0xFFFF) << 16 | 0x80;
    p.rs2 = static_cast<uint64_t>(of.orows * of.ocols & 0xFFFF) << 48;
    return;
  }
  const int pixels = std::min(of.kcols - w.kcol, of.pixels);
  const int rows = of.input_3120 ? std::min(of.batches - w.b, dim)
                                 : undilated(std::min(of.ocols - w.ocol, dim << of.dilated), of.dilated);
  const int columns = std::min(of.ochs - w.och, dim), depth = pixels * std::min(of.kchs - w.kch, dim);
  if (w.step == Step::work) {
    const int krow = of.turned_weights ? of.krows - w.krow - 1 : w.krow,
              kcol = of.turned_weights ? of.kcols - w.kcol - 1 : w.kcol, place = krow * of.kcols + kcol;
    const uint32_t b = w.b_start + (of.weight_0132 ? (w.kch / dim) * of.weight_span + place * of.ochs + w.och
                                                   : (w.och / dim) * of.weight_span + place * of.kchs + w.kch);
    const uint32_t c = w.start + (w.och / dim) * of.bias_span + (w.b * of.orows + w.orow) * of.ocols + w.ocol;
    p.funct = kPreload;
    p.rs1 = packed(w.new_weights ? b : LocalAddress::kGarbage, columns, depth);
    p.rs2 = packed(c | LocalAddress::kAccumulator | LocalAddress::kAccumulate, columns, rows);
    return;
  }
  const int irow = undilated(w.orow * of.stride + w.krow * of.kernel_dilation, of.dilated) >> of.downsample,
            icol = undilated(w.ocol * of.stride + w.kcol * of.kernel_dilation, of.dilated) >> of.downsample;
  const int first = of.input_3120 ? w.b / dim : w.kch / dim, second = of.input_3120 ? w.kch : w.b;
  const uint32_t a = w.a_start + first * of.input_span +
                     (second * (of.irows >> of.downsample) + irow) * (of.icols >> of.downsample) + icol;
  p.funct = w.new_weights ? kComputePreloaded : kComputeAccumulated;
  p.rs1 = packed(a, depth, rows);
  p.rs2 = packed(LocalAddress::kGarbage, columns, rows);
}

void LoopConv::make_store(const Work& w, Plain& p) const {
  const Loop& of = w.of;
  const int bytes = geometry_.element_bytes, dim = geometry_.dim;
  const int columns = std::min(of.ochs - w.och, dim);
  const uint32_t image = w.start + (w.och / dim) * of.bias_span + w.b * of.orows * of.ocols;
  p.unit = Unit::store;
  if (w.step != Step::work) {  // config_st before and after pooling; the scale stays
    p.funct = kConfig;
    p.rs1 = static_cast<uint64_t>(of.activation & 3) << 2 | 2;
    if (w.step == Step::config)
      p.rs1 |= static_cast<uint64_t>(of.ocols & 0xFF) << 56 | static_cast<uint64_t>(of.orows & 0xFF) << 48 |
               static_cast<uint64_t>(of.pool_columns & 0xFF) << 40 | static_cast<uint64_t>(of.pool_rows & 0xFF) << 32 |
               static_cast<uint64_t>(of.pool_out_columns & 0xFF) << 24 | static_cast<uint64_t>(of.plpad & 3) << 10 |
               static_cast<uint64_t>(of.pupad & 3) << 8 | static_cast<uint64_t>(of.pool_size & 3) << 6 |
               static_cast<uint64_t>(of.pool_stride & 3) << 4;
    p.rs2 = uint64_t{0xFFFFFFFF} << 32 | static_cast<uint32_t>(of.out_stride * bytes);
    return;
  }
  p.funct = kStore;
  if (!of.no_pool) {
    const int64_t offset =
        (static_cast<int64_t>(w.b) * of.pool_out_columns * of.pool_out_rows * of.out_stride + w.och) * bytes;
    p.rs1 = of.output + static_cast<uint64_t>(offset);
    p.rs2 = packed(image | LocalAddress::kAccumulator, columns, 0);
    return;
  }
  const int64_t offset =
      of.output_1203
          ? ((static_cast<int64_t>(w.orow) * of.out_columns + w.ocol) * of.batch_size + w.b) * of.out_channels + w.och
          : ((static_cast<int64_t>(w.b) * of.out_rows + w.orow) * of.out_columns + w.ocol) * of.out_stride + w.och;
  p.rs1 = of.output + low(offset * bytes);
  p.rs2 = packed((image + w.orow * of.ocols + w.ocol) | LocalAddress::kAccumulator, columns,
                 std::min(of.ocols - w.ocol, dim));
}

// --- how each goes on ---------------------------------------------------------------------------------------------

void LoopConv::advance(Maker m, bool skipped) {
  Work& w = work_[m];
  if (w.step == Step::config) {
    w.step = Step::work;
    return;
  }
  switch (m) {
    case kBias: advance_bias(w); break;
    case kInput: advance_input(w); break;
    case kWeights: advance_weights(w); break;
    case kEx: advance_execute(w, skipped); break;
    case kSt: advance_store(w); break;
  }
}

void LoopConv::advance_bias(Work& w) const {
  const Loop& of = w.of;
  w.och = floor_add(w.och, bias_chunk(of), of.ochs);
  if (w.och == 0) w.ocol = floor_add(w.ocol, geometry_.dim, of.ocols);
  if (w.och == 0 && w.ocol == 0) w.orow = floor_add(w.orow, 1, of.orows);
  if (w.och == 0 && w.ocol == 0 && w.orow == 0) w.b = floor_add(w.b, 1, of.batches);
  if (w.och == 0 && w.ocol == 0 && w.orow == 0 && w.b == 0) w.step = Step::idle;
}

void LoopConv::advance_input(Work& w) const {
  const Loop& of = w.of;
  const int top = -undilated(of.upad, of.dilated), left = -undilated(of.lpad, of.dilated);
  const int columns = input_columns(w), chunk = input_chunk(of);
  w.ich = floor_add(w.ich, of.input_3120 ? 1 : chunk, of.kchs);
  if (w.ich != 0) return;
  w.icol = floor_add(w.icol, columns, of.icols_unpadded + undilated(of.rpad, of.dilated), left);
  if (w.icol != left) return;
  w.irow = floor_add(w.irow, 1 << of.downsample, of.irows_unpadded + undilated(of.dpad, of.dilated), top);
  if (w.irow != top) return;
  w.b = floor_add(w.b, of.input_3120 ? chunk : 1, of.batches);
  if (w.b == 0) w.step = Step::idle;
}

void LoopConv::advance_weights(Work& w) const {
  const Loop& of = w.of;
  const int chunk = weight_chunk(of), dim = geometry_.dim;
  w.kch = floor_add(w.kch, of.weight_0132 ? chunk : dim, of.kchs);
  if (w.kch != 0) return;
  w.kcol = floor_add(w.kcol, 1, of.kcols);
  if (w.kcol != 0) return;
  w.krow = floor_add(w.krow, 1, of.krows);
  if (w.krow != 0) return;
  w.och = floor_add(w.och, of.weight_0132 ? dim : chunk, of.ochs);
  if (w.och == 0) w.step = Step::idle;
}

void LoopConv::advance_execute(Work& w, bool skipped) const {
  const Loop& of = w.of;
  const int dim = geometry_.dim;
  if (w.step == Step::work) {  // an iteration that is skipped passes both steps
    w.step = Step::compute;
    return;
  }
  if (!skipped) w.new_weights = false;
  w.step = Step::work;
  w.ocol = floor_add(w.ocol, skipped || of.input_3120 ? 1 : dim << of.dilated, of.ocols);
  if (w.ocol != 0) return;
  w.orow = floor_add(w.orow, 1, of.orows);
  if (w.orow != 0) return;
  w.b = floor_add(w.b, of.input_3120 ? dim : 1, of.batches);
  if (w.b != 0) return;
  w.new_weights = true;
  w.kch = floor_add(w.kch, dim, of.kchs);
  if (w.kch != 0) return;
  w.kcol = floor_add(w.kcol, of.pixels, of.kcols);
  if (w.kcol != 0) return;
  w.krow = floor_add(w.krow, 1, of.krows);
  if (w.krow != 0) return;
  w.och = floor_add(w.och, dim, of.ochs);
  if (w.och == 0) w.step = Step::idle;
}

void LoopConv::advance_store(Work& w) const {
  const Loop& of = w.of;
  if (w.step == Step::after) {
    w.step = Step::idle;
    return;
  }
  w.och = floor_add(w.och, geometry_.dim, of.ochs);
  if (w.och != 0) return;
  if (of.no_pool) {
    w.ocol = floor_add(w.ocol, geometry_.dim, of.ocols);
    if (w.ocol != 0) return;
    w.orow = floor_add(w.orow, 1, of.orows);
    if (w.orow != 0) return;
  }
  w.b = floor_add(w.b, 1, of.batches);
  if (w.b == 0) w.step = of.no_pool ? Step::idle : Step::after;
}

}  // namespace strop::gemmini
