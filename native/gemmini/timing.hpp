// The numbers of the timed machine. Defaults are those of the preset `firesim`; the source of each stands in
// src/strop/kernels/targets/gemmini/parameters.toml, which names them all.
#pragma once

#include <cstdint>

#include "gemmini/parameters.hpp"

namespace strop::gemmini {

using Cycle = uint64_t;
constexpr Cycle kNever = ~Cycle{0};

struct Timing {
  // Front end and reservation station.
  int front_queue, load_entries, store_entries, execute_entries, load_queue, store_queue, execute_queue;
  int conv_latency;
  // Loads.
  int load_commands, requests, request_queue, request_path, landing, landing_queue, scale_units, bus_bytes, packet_most;
  // Local memories.
  int spad_latency, accumulator_latency, accumulator_read_latency;
  // Array.
  int mesh_latency, tags, rows_least;
  bool hazards;
  // Stores.
  int store_commands, writes, store_spad_latency, store_latency, store_scale, store_issue_queue, store_pipe_queue, dispatch_queue, write_path;
  // The memory side.
  int hit, miss, misses, fill_bytes, secondary, write_hit;
  int64_t cache_bytes;
  int cache_ways;
  bool cache_warm, blocking_writes;
  int tlb_miss, tlb_entries;
  // Host of `run_commands`, and faults for tests of the checks themselves.
  int fault_ignore_dependences;
  int64_t most_cycles;

  // Throws std::invalid_argument for a value out of range.
  static Timing from(const NamedValues& values, const Geometry& geometry);
};

}  // namespace strop::gemmini
