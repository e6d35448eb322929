// Turns a nest into machine code, literally: loops.cpp emits the loops around the register tile, tile.cpp the tile and
// the reduction loops that it lives across, terms.cpp its multiply-adds, operands.cpp single accesses, pack.cpp the
// copies to scratch.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "spec.hpp"
#include "vector_unit.hpp"
#include "xbyak/xbyak.h"

namespace strop {

class NestEmitter {
 public:
  NestEmitter(const Spec& spec, Xbyak::CodeGenerator& code);

  void emit();

  size_t scratch_bytes() const { return scratch_bytes_; }
  int64_t arithmetic_instructions() const { return arithmetic_; }
  int64_t parallel_iterations() const { return parallel_iterations_; }

 private:
  // Tensors are numbered: inputs 0 and 1, output 2, operands of the epilogue from 3.
  static constexpr int kOutput = 2;
  static constexpr int kExtra = 3;

  // A run of equal iterations of a loop.
  struct Segment {
    int64_t count;
    int64_t extent;
    int64_t partner_step;  // 0: the partner keeps its step
  };

  // Whether an iteration of a reduction loop around the tile is the first (last) one: known, or a counter's value.
  struct When {
    enum Kind { always, never, dynamic } kind = always;
    int counter = 0;
    int64_t value = 0;
  };

  // One vector (or, when a reduction is vectorised, one element) of the output tile.
  struct TileEntry {
    int64_t output_offset;
    int lanes;
    std::vector<int64_t> extra_offsets;
  };

  enum class Access { vector, broadcast, gather };
  struct Reference {
    int tensor;
    Access access;
    int64_t offset;
    int lanes;
    bool operator==(const Reference&) const = default;
  };
  struct Term {
    int accumulator;  // register
    int operand[2];   // indices into the references; the second is -1 with one input
    int lanes;
  };

  struct PackedAxis {
    int axis;
    int64_t stride;  // bytes, in scratch
  };

  // ---- loops.cpp
  std::vector<Segment> segments(int position, int64_t extent) const;
  void emit_from(int position);
  void emit_loop(int position);
  void emit_parallel_loop(int position);
  void emit_body(int position);  // packs and prefetches of the loop, then what is inside
  void emit_chunks(int position);
  void counted(int64_t count, int unroll, const std::function<void(int copy, bool looped, int counter)>& body);
  void with_segment(int position, const Segment& segment, const std::function<void()>& body);
  void advance(int axis, int64_t elements, bool inputs_only = false);
  void emit_prefetch(int position);
  int take_counter();
  void give_counter() { --live_counters_; }
  void counter_set(int counter, int64_t value);
  void counter_decrement(int counter);
  void counter_compare(int counter, int64_t value);

  // ---- tile.cpp
  struct Tile {
    std::vector<TileEntry> entries;
    int sets = 1;
    int first_free = 0;       // registers from here up to `limit` hold operands
    int limit = 0;
    int partial_lanes = 0;    // the only partial width in the tile, or -1 when there are several
  };
  int reserved_registers(bool partial) const;
  bool visit_tile(int position, const std::function<bool(int lanes)>& visit);
  int reduced_widths(int position) const;
  bool tile_fits(int position);
  bool breaks_tile(int position) const;
  void emit_tile(int position);
  void emit_initial();
  void emit_reduction(int position);
  void emit_terms(int position);
  void emit_results();
  void emit_stores();
  void emit_epilogue_and_stores();
  void identity(int reg);
  bool flat(int position) const;
  bool collectable(int position) const;
  int64_t trips(int position) const;
  int accumulator_of(int64_t output_offset) const;
  bool vector_is_reduction() const { return !spec_.is_output(vector_axis_); }
  void branch_unless(const std::vector<When>& conditions, Xbyak::Label& otherwise);
  static When::Kind combined(const std::vector<When>& conditions);

  // ---- terms.cpp
  void collect_terms(int position);
  void flush_terms();
  void emit_term(const Term& term, int a, const Xbyak::Operand* memory, int b_register);
  void reduce_into(int accumulator, int value);
  void reduce_sets();
  void reduce_lanes();

  // ---- operands.cpp
  Xbyak::Reg64 pointer(int tensor) const;
  Xbyak::Address address(int tensor, int64_t offset);
  Xbyak::Address address(const Xbyak::Reg64& base, int64_t offset);
  Reference reference(int tensor, int lanes) const;
  void load_reference(int dst, const Reference& reference);
  void load_strided(int dst, const Xbyak::Reg64& base, int64_t offset, int64_t stride, int lanes);
  void gather(int dst, const Reference& reference);
  void load_output(int dst, const TileEntry& entry);
  void store_output(int src, const TileEntry& entry);
  void load_extra(int dst, int extra, const TileEntry& entry);
  void ensure_mask(int lanes);
  int64_t vector_stride(int tensor) const { return stride_[tensor][vector_axis_]; }

  // ---- pack.cpp
  void plan_packs();
  void emit_pack(int position, int tensor);
  std::vector<PackedAxis> copy_order(int tensor, const std::vector<int>& axes,
                                     const std::vector<int64_t>& packed) const;
  void emit_pack_loops(int tensor, std::vector<PackedAxis> order);
  bool transposes(int tensor, const std::vector<PackedAxis>& order) const;
  void emit_pack_transposed(int tensor, int row, const PackedAxis& column);
  void emit_turn(const Xbyak::Reg64& from, int64_t stride, int64_t target);
  void repeated(int64_t count, const std::function<void()>& body);
  void move_both(int tensor, int64_t source, int64_t target);
  void emit_pack_row(int tensor, int axis);
  std::vector<int> packed_axes(int position, int tensor) const;

  // ---- state
  const Spec& spec_;
  Xbyak::CodeGenerator& code_;
  VectorUnit unit_;
  int last_;                                   // position of the vector loop
  int vector_axis_;
  std::vector<std::vector<int64_t>> stride_;   // bytes, [tensor][axis]; packing changes them inside its loop
  std::vector<int64_t> offset_;                // static displacement of each tensor inside the tile
  std::vector<int64_t> extent_;                // extent of each axis that the loops inside cover
  std::vector<int64_t> step_;                  // step of each loop now (a cover changes its partner's)
  std::vector<When> first_, last_iteration_;   // of the reduction loops around the tile
  Tile tile_;
  std::vector<Reference> references_;
  std::vector<Term> terms_;
  std::vector<int> terms_of_entry_;
  int mask_register_ = -1, gather_index_ = -1, gather_mask_ = -1, term_register_ = -1, nan_register_ = -1;
  int mask_lanes_ = 0;                         // what the mask holds now; 0 unknown
  int live_counters_ = 0;
  size_t scratch_bytes_ = 0;
  std::vector<size_t> scratch_at_;             // of each input
  std::vector<char> packed_;                   // inputs now read from scratch
  int64_t arithmetic_ = 0;
  int64_t parallel_iterations_ = 0;
};

}  // namespace strop
