// Python's view of the timed machine without a core: raw commands in, cycles and the account out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "gemmini/machine.hpp"

namespace nb = nanobind;

namespace strop::gemmini {

nb::dict account_dict(TimedMachine& machine);

namespace {

constexpr uint64_t kFence = 255;  // in place of a funct: the host waits until nothing is in flight

nb::dict spent_dict(const std::array<uint64_t, kSpent>& spent) {
  nb::dict d;
  for (int i = 0; i < kSpent; ++i) d[name_of(static_cast<Spent>(i))] = spent[i];
  return d;
}

class TimedBench {  // a machine with its memory
 public:
  TimedBench(const std::map<std::string, double>& values, uint64_t bytes, uint64_t base, bool strict, int poison)
      : memory_(bytes, base), machine_(memory_, NamedValues(values), strict, static_cast<uint8_t>(poison)) {}

  void write(uint64_t address, nb::bytes data) { memory_.write(address, data.size(), data.c_str()); }
  nb::bytes read(uint64_t address, uint64_t n) {
    std::string out(n, '\0');
    memory_.read(address, n, out.data());
    return nb::bytes(out.data(), out.size());
  }
  // Rows of (funct, rs1, rs2, pc, cost): the host needs `cost` cycles before it offers the command.
  uint64_t run(nb::ndarray<const uint64_t, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu> commands, bool fence) {
    try {
      return run_rows(commands, fence);
    } catch (const rocket::Trap& trap) {
      throw std::runtime_error(trap.text);
    }
  }
  uint64_t run_rows(const nb::ndarray<const uint64_t, nb::shape<-1, 5>, nb::c_contig, nb::device::cpu>& commands,
                    bool fence) {
    const uint64_t* row = commands.data();
    const size_t n = commands.shape(0);
    nb::gil_scoped_release unlocked;
    uint64_t host = std::max(host_, machine_.now());
    for (size_t i = 0; i < n; ++i, row += 5) {
      host += row[4];
      if (row[0] == kFence) {
        host = machine_.drain(host);
        continue;
      }
      rocket::RoccCommand c;
      c.funct = static_cast<uint8_t>(row[0]);
      c.rs1 = row[1];
      c.rs2 = row[2];
      c.pc = row[3];
      c.xs1 = c.xs2 = true;
      c.cycle = host;
      host = machine_.issue(c).cycle;
    }
    host_ = fence ? machine_.drain(host) : host;
    return host_;
  }
  uint64_t counter(uint64_t rs1) {
    rocket::RoccCommand c;
    c.funct = kCounter;
    c.rs1 = rs1;
    c.xd = c.xs1 = c.xs2 = true;
    c.cycle = std::max(host_, machine_.now());
    const rocket::Accepted accepted = machine_.issue(c);
    host_ = accepted.cycle;
    return accepted.result;
  }
  void reset(size_t most_events) {
    machine_.reset(most_events);
    host_ = 0;
  }
  nb::bytes scratchpad() const { return rows(machine_.state().scratchpad); }
  nb::bytes accumulator() const { return rows(machine_.state().accumulator); }
  TimedMachine& machine() { return machine_; }

 private:
  static nb::bytes rows(const LocalMemory& m) {
    return nb::bytes(reinterpret_cast<const char*>(m.row(0)), static_cast<size_t>(m.rows()) * m.row_bytes());
  }
  rocket::Memory memory_;
  TimedMachine machine_;
  uint64_t host_ = 0;  // the host's time
};

}  // namespace

// {"total", "classes", "commands", "lines", "waits", "counters", "events"}: plain dicts and lists.
nb::dict account_dict(TimedMachine& machine) {
  const Account& a = machine.account();
  nb::dict d, commands, lines, counters;
  uint64_t total = 0;
  for (const uint64_t n : a.total) total += n;
  d["cycles"] = total;
  d["classes"] = spent_dict(a.total);
  for (int f = 0; f < 128; ++f) {
    uint64_t any = 0;
    for (const uint64_t n : a.by_funct[f]) any += n;
    if (any != 0) commands[nb::int_(f)] = spent_dict(a.by_funct[f]);
  }
  d["commands"] = commands;
  for (const auto& [pc, spent] : a.by_pc) lines[nb::int_(pc)] = spent_dict(spent);
  d["lines"] = lines;
  nb::list waits;
  for (const auto& [key, sum] : a.waits) {
    nb::dict w;
    w["pc"] = key.pc;
    w["funct"] = key.funct;
    w["wait"] = name_of(key.wait);
    w["cause_pc"] = key.cause_pc;
    w["cycles"] = sum.cycles;
    w["count"] = sum.count;
    w["longest"] = sum.longest;
    w["index"] = sum.index;
    w["cause_index"] = sum.cause_index;
    waits.append(w);
  }
  d["waits"] = waits;
  const UnitCounters& n = a.counters;
  const std::pair<const char*, uint64_t> all[] = {
      {"load_active", n.load_active}, {"load_dma_wait", n.load_dma_wait},
      {"load_scratchpad_wait", n.load_scratchpad_wait}, {"store_active", n.store_active}, {"store_wait", n.store_wait},
      {"execute_active", n.execute_active}, {"execute_flush", n.execute_flush},
      {"control_queue_block", n.control_queue_block}, {"preload_hazard", n.preload_hazard},
      {"overlap_hazard", n.overlap_hazard}, {"reader_active", n.reader_active}, {"reader_no_id", n.reader_no_id},
      {"writer_active", n.writer_active}, {"writer_no_id", n.writer_no_id}, {"station_active", n.station_active},
      {"station_full", n.station_full}, {"bus_wait", n.bus_wait},
      {"bytes_read", machine.loads().bytes}, {"read_packets", machine.loads().packets},
      {"read_retries", machine.loads().retries}, {"load_bank_stalls", machine.loads().bank_stalls},
      {"zero_rows", machine.loads().zero_rows}, {"bytes_written", machine.stores().bytes},
      {"write_packets", machine.stores().packets}, {"store_bank_stalls", machine.stores().bank_stalls},
      {"store_port_stalls", machine.stores().port_stalls}, {"execute_bank_stalls", machine.executes().bank_stalls},
      {"operand_conflicts", machine.executes().conflicts}, {"steps_fused", machine.executes().fused},
      {"steps_alone", machine.executes().alone}, {"flushes", machine.executes().flushes},
      {"rows_fed", machine.executes().rows}, {"cache_hits", machine.cache().hits},
      {"cache_misses", machine.cache().misses}, {"commands", machine.commands()}, {"tlb_misses", machine.tlb().misses},
  };
  for (const auto& [name, value] : all) counters[name] = value;
  d["counters"] = counters;
  static const char* const units[] = {"load", "execute", "store", "fence"};
  nb::list events;
  for (const TimelineEvent& e : a.events) {
    nb::dict v;
    v["unit"] = units[e.unit];
    v["funct"] = e.funct;
    v["index"] = e.origin.index;
    v["unrolled"] = e.origin.unrolled;
    v["pc"] = e.origin.pc;
    v["allocated"] = e.allocated;
    v["start"] = e.issued;
    v["end"] = e.end;
    v["wait"] = name_of(e.wait);
    v["cause_index"] = e.cause.index;
    v["cause_pc"] = e.cause.pc;
    events.append(v);
  }
  d["events"] = events;
  d["events_dropped"] = a.events_dropped;
  return d;
}

void bind_gemmini_timed(nb::module_& m) {
  m.attr("GEMMINI_FENCE") = kFence;
  nb::class_<TimedBench>(m, "GemminiBench", "The timed Gemmini with a memory of its own and no core.")
      .def(nb::init<const std::map<std::string, double>&, uint64_t, uint64_t, bool, int>(), nb::arg("values"),
           nb::arg("bytes"), nb::arg("base") = rocket::Memory::kDefaultBase, nb::arg("strict") = false,
           nb::arg("poison") = 0xA5)
      .def("write", &TimedBench::write, nb::arg("address"), nb::arg("data"))
      .def("read", &TimedBench::read, nb::arg("address"), nb::arg("bytes"))
      .def("run", &TimedBench::run, nb::arg("commands"), nb::arg("fence") = true,
           "Runs rows of (funct, rs1, rs2, pc, cost); with `fence`, until nothing is in flight. Returns the host's cycle.")
      .def("counter", &TimedBench::counter, nb::arg("rs1"), "Sends COUNTER now; what it reads.")
      .def("reset", &TimedBench::reset, nb::arg("events") = 0)
      .def("warm", [](TimedBench& b, uint64_t address, uint64_t n) { b.machine().warm(address, n); }, nb::arg("address"),
           nb::arg("bytes"), "Puts lines into the cache, as the core does that has just written them.")
      .def("scratchpad", &TimedBench::scratchpad)
      .def("accumulator", &TimedBench::accumulator)
      .def("account", [](TimedBench& b) { return account_dict(b.machine()); });
}

}  // namespace strop::gemmini
