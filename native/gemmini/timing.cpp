#include "gemmini/timing.hpp"

namespace strop::gemmini {

Timing Timing::from(const NamedValues& v, const Geometry& g) {
  const auto count = [&](const char* name, int otherwise, int least = 1, int most = 1 << 20) {
    return static_cast<int>(v.integer(name, otherwise, least, most));
  };
  Timing t;
  t.front_queue = count("front.queue", 2, 1, 64);
  t.conv_latency = count("front.conv_latency", 2, 0, 64);
  t.load_entries = count("rs.load_entries", 8, 1, 16);
  t.execute_entries = count("rs.execute_entries", 16, 1, 32);
  t.store_entries = count("rs.store_entries", 4, 1, 16);
  t.load_queue = count("rs.load_queue", 8, 1, 64);
  t.execute_queue = count("rs.execute_queue", 8, 3, 64);
  t.store_queue = count("rs.store_queue", 2, 1, 64);
  t.requests = count("dma.requests", 16, 1, 64);
  t.writes = count("dma.writes", t.requests, 1, 64);
  t.load_commands = count("load.commands", 0, 0, 64);  // 0: as the hardware's generator derives it
  if (t.load_commands == 0) t.load_commands = t.requests / g.dim + 1;
  t.store_commands = count("store.commands", 0, 0, 64);
  if (t.store_commands == 0) t.store_commands = t.requests / g.dim + 1;
  t.request_queue = count("load.request_queue", 5, 1, 64);
  t.request_path = count("dma.request_path", 3, 2, 1000);
  t.landing = count("load.landing", 5, 1, 1000);
  t.landing_queue = count("load.landing_queue", 4, 1, 64);
  t.scale_units = count("load.scale_units", 4, 1, 64);
  t.bus_bytes = count("dma.bus_bytes", 16, 4, 64);
  t.packet_most = count("dma.packet_most", 64, 16, 64);
  t.spad_latency = count("spad.read_latency", 5, 1, 64);
  t.accumulator_latency = count("accumulator.write_latency", 2, 1, 16);
  t.accumulator_read_latency = count("accumulator.read_latency", 12, 1, 64);
  t.hazards = v.integer("execute.hazards", 1, 0, 1) != 0;
  t.mesh_latency = count("mesh.latency", 32, 1, 1000);
  t.tags = count("mesh.tags", 6, 4, 64);
  t.rows_least = count("mesh.rows_least", 4, 1, 16);
  t.store_spad_latency = count("store.spad_latency", 6, 1, 64);
  t.store_latency = count("store.latency", 4, 1, 64);
  t.store_scale = count("store.scale_latency", 8, 1, 64);
  t.store_issue_queue = count("store.issue_queue", 5, 1, 64);
  t.store_pipe_queue = count("store.pipe_queue", 4, 1, 32);
  t.dispatch_queue = count("store.dispatch_queue", 2, 1, 64);
  t.write_path = count("dma.write_path", 3, 2, 1000);
  t.hit = count("memory.hit", 40, 1, 100000);
  t.miss = count("memory.miss", 100, 1, 100000);
  t.misses = count("memory.misses", 10, 1, 256);
  t.fill_bytes = count("memory.fill_bytes", 8, 1, 64);
  t.secondary = count("memory.secondary", 4, 0, 1000);
  t.write_hit = count("memory.write", t.hit, 1, 100000);
  t.cache_bytes = v.integer("memory.cache_bytes", 512 * 1024, 4096, int64_t{1} << 30);
  t.cache_ways = count("memory.cache_ways", 8, 1, 64);
  t.cache_warm = v.integer("memory.warm", 0, 0, 1) != 0;
  t.tlb_miss = count("tlb.miss", 0, 0, 100000);
  t.tlb_entries = count("tlb.entries", 4, 1, 4096);
  t.fault_ignore_dependences = count("fault.ignore_dependences", 0, 0, 7);
  t.most_cycles = v.integer("limit.cycles", int64_t{1} << 40, 1, int64_t{1} << 50);
  if ((t.bus_bytes & (t.bus_bytes - 1)) != 0 || (t.packet_most & (t.packet_most - 1)) != 0 || t.packet_most < t.bus_bytes)
    throw std::invalid_argument("dma.bus_bytes and dma.packet_most must be powers of two, packets no smaller than a beat");
  const int64_t sets = t.cache_bytes / (64 * t.cache_ways);
  if (sets < 1 || (sets & (sets - 1)) != 0)
    throw std::invalid_argument("memory.cache_bytes / (64 * memory.cache_ways) must be a power of two");
  return t;
}

}  // namespace strop::gemmini
