// The core as Python sees it.
#include "bind_rocket.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "machine.hpp"
#include "queue_coprocessor.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace strop::rocket {
namespace {

constexpr const char* kOutcomes[] = {"returned", "exited", "trap", "limit"};

Parameters parameters_from(const std::map<std::string, double>& given) {
  Parameters parameters;
  for (const auto& [name, value] : given) {
    if (!(std::abs(value) < 1e15) || value != std::floor(value))
      throw nb::value_error((name + " is a whole number").c_str());
    parameters.set(name, static_cast<int64_t>(value));
  }
  return parameters;
}

std::span<const uint8_t> span_of(const nb::bytes& bytes) {
  return {static_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

void bind_memory(nb::module_& m) {
  nb::class_<Memory>(m, "Memory", "The memory of a machine; host side, without permissions.")
      .def_prop_ro("base", &Memory::base)
      .def_prop_ro("size", &Memory::size)
      .def("read", [](const Memory& memory, uint64_t address, uint64_t n) {
        if (!memory.contains(address, n)) throw std::out_of_range(memory.describe(address, n) + " is outside the memory");
        return nb::bytes(reinterpret_cast<const char*>(memory.host()) + (address - memory.base()), n);
      }, "address"_a, "n"_a, "Bytes. IndexError outside the memory, as for the others.")
      .def("write", [](Memory& memory, uint64_t address, const nb::bytes& bytes) {
        memory.write(address, bytes.size(), bytes.data());
      }, "address"_a, "data"_a)
      .def("fill", &Memory::fill, "address"_a, "n"_a, "byte"_a)
      .def("clear", &Memory::clear, "Zero bytes, all permissions, no ranges, no provenance, DMA unrestricted.")
      .def("protect", &Memory::protect, "begin"_a, "end"_a, "permissions"_a,
           "The core's permissions (1 read, 2 write, 4 execute) of every page that [begin, end) touches.")
      .def("add_range", [](Memory& memory, uint64_t begin, uint64_t end, const std::string& name, bool readable,
                           bool writable, bool cpu_forbidden) {
        memory.add_range({begin, end, readable, writable, cpu_forbidden, name});
      }, "begin"_a, "end"_a, "name"_a, "readable"_a = true, "writable"_a = true, "cpu_forbidden"_a = false,
           "What DMA may do in these bytes once it is restricted, and whether the core is kept out.")
      .def("clear_ranges", &Memory::clear_ranges)
      .def("restrict_dma", &Memory::restrict_dma, "on"_a)
      .def("track", &Memory::track, "begin"_a, "end"_a, "initial"_a = 0,
           "Keep a byte of provenance for each: bit 0 computed by the array, bit 1 written by the core, 2 to 7 operands.")
      .def("provenance", [](const Memory& memory, uint64_t begin, uint64_t end) {
        const std::vector<uint8_t> bytes = memory.provenance_bytes(begin, end);
        return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }, "begin"_a, "end"_a);
}

void bind_queue(nb::module_& m) {
  nb::class_<QueueCoprocessor, Coprocessor>(m, "QueueCoprocessor", "The simplest accelerator, for tests of the core.")
      .def(nb::init<Memory&, uint64_t, uint64_t>(), "memory"_a, "depth"_a, "service"_a, nb::keep_alive<1, 2>(),
           "A queue of `depth` commands, each served for `service` cycles. Funct 0 answers the sum of its sources, 1\n"
           "writes rs2 to memory at rs1 when it has been served, 2 is refused.")
      .def("seen", [](const QueueCoprocessor& queue) {
        nb::list rows;
        for (const RoccCommand& c : queue.seen())
          rows.append(nb::make_tuple(c.funct, c.rs1, c.rs2, c.pc, c.cycle, c.xd, c.xs1, c.xs2));
        return rows;
      }, "[(funct, rs1, rs2, pc, cycle offered, xd, xs1, xs2)].");
}

void bind_result(nb::module_& m) {
  nb::class_<Result>(m, "RunResult", "How a run of a machine ended, and what it took.")
      .def_prop_ro("outcome", [](const Result& r) { return kOutcomes[static_cast<int>(r.outcome)]; },
                   "\"returned\", \"exited\", \"trap\" or \"limit\".")
      .def_ro("code", &Result::code, "The exit code, or a0 of a function that returned.")
      .def_prop_ro("trap", [](const Result& r) { return r.outcome == Outcome::trapped ? trap_name(r.trap) : ""; })
      .def_prop_ro("limit", [](const Result& r) { return r.limit; }, "\"instructions\", \"cycles\" or \"output\".")
      .def_ro("pc", &Result::pc)
      .def_ro("address", &Result::address, "Of the access that trapped; the bits of an illegal instruction.")
      .def_ro("text", &Result::text)
      .def_ro("instructions", &Result::instructions)
      .def_ro("cycles", &Result::cycles, "Until the last instruction had issued; instructions where there is no timing.")
      .def_ro("idle_cycle", &Result::idle_cycle, "Cycles until the accelerator was idle, too.")
      .def_ro("commands", &Result::commands, "Commands that the accelerator took.")
      .def_ro("stream", &Result::stream, "A hash of those commands: functions and operands, in their order.")
      .def_prop_ro("stalls", [](const Result& r) {
        return std::map<std::string, uint64_t>{{"operand", r.stalls.operand},
                                               {"control", r.stalls.control},
                                               {"cache", r.stalls.cache},
                                               {"back_pressure", r.stalls.back_pressure},
                                               {"fence", r.stalls.fence},
                                               {"misaligned", r.stalls.misaligned}};
      }, "Cycles in which nothing issued, by reason.")
      .def_prop_ro("output", [](const Result& r) { return nb::bytes(r.output.data(), r.output.size()); });
}

nb::dict load(Machine& machine, const nb::bytes& file, bool protect) {
  LoadedElf loaded;
  {
    const std::span<const uint8_t> bytes = span_of(file);
    nb::gil_scoped_release release;
    loaded = machine.load(bytes, protect);
  }
  nb::list segments;
  for (const Segment& segment : loaded.segments)
    segments.append(nb::make_tuple(segment.address, segment.size, segment.permissions));
  nb::dict symbols, result;
  for (const auto& [name, address] : loaded.symbols)  // names of a hostile file need not be UTF-8
    symbols[nb::steal(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace"))] = address;
  result["entry"] = loaded.entry;
  result["end"] = loaded.end;
  result["segments"] = segments;
  result["symbols"] = symbols;
  return result;
}

Result call(Machine& machine, uint64_t address, const std::vector<uint64_t>& arguments, uint64_t stack,
            uint64_t instructions, uint64_t cycles, uint64_t output_bytes, bool timed, bool profile) {
  if (arguments.size() > 8) throw nb::value_error("a function takes at most 8 arguments in registers");
  nb::gil_scoped_release release;
  return machine.call(address, arguments, stack, {instructions, cycles, output_bytes}, timed, profile);
}

Result run(Machine& machine, uint64_t instructions, uint64_t cycles, uint64_t output_bytes, bool timed, bool profile) {
  nb::gil_scoped_release release;
  return machine.run({instructions, cycles, output_bytes}, timed, profile);
}

Result resume(Machine& machine, uint64_t instructions, uint64_t cycles, uint64_t output_bytes, bool timed,
              bool profile) {
  nb::gil_scoped_release release;
  return machine.cpu().run({instructions, cycles, output_bytes}, timed, profile);
}

int register_number(int i) {
  if (i < 0 || i > 31) throw nb::index_error("registers are numbered 0 to 31");
  return i;
}

void bind_machine(nb::module_& m) {
  const Limits limits;
  nb::class_<Machine>(m, "Machine", "An RV64IMAFDC core in machine mode, its memory, and the program in it.")
      .def("__init__", [](Machine* self, uint64_t memory_bytes, uint64_t base,
                          const std::map<std::string, double>& parameters) {
        new (self) Machine(memory_bytes, base, parameters_from(parameters));
      }, "memory_bytes"_a = uint64_t{256} << 20, "base"_a = Memory::kDefaultBase,
           "parameters"_a = std::map<std::string, double>{},
           "`parameters` by the names of rocket_parameters(); ValueError for an unknown one.")
      .def_prop_ro("memory", [](Machine& machine) { return machine.shared_memory(); })
      .def("load", &load, "elf"_a, "protect"_a = false,
           "Load a static ELF: {entry, end, segments: [(address, size, permissions)], symbols}. Raises ElfError.")
      .def("attach", &Machine::attach, "coprocessor"_a.none(), "Put an accelerator on custom-3, or None.")
      .def("run", &run, "instructions"_a = limits.instructions, "cycles"_a = limits.cycles,
           "output_bytes"_a = limits.output_bytes, "timed"_a = false, "profile"_a = false,
           "Run from the entry, as after reset, until exit, trap or limit.")
      .def("call", &call, "address"_a, "arguments"_a = std::vector<uint64_t>{}, "stack"_a = 0,
           "instructions"_a = limits.instructions, "cycles"_a = limits.cycles, "output_bytes"_a = limits.output_bytes,
           "timed"_a = false, "profile"_a = false,
           "Call the function at `address` after reset, arguments in a0 to a7, the stack below `stack` (0: the end). The\n"
           "clock begins at 0: an accelerator that was used before is to be reset, too.")
      .def("resume", &resume, "instructions"_a = limits.instructions, "cycles"_a = limits.cycles,
           "output_bytes"_a = limits.output_bytes, "timed"_a = false, "profile"_a = false,
           "Go on from the registers as they are.")
      .def("reset", [](Machine& machine, uint64_t pc, bool float_on) { machine.cpu().reset(pc, float_on); }, "pc"_a,
           "float_on"_a = true)
      .def_prop_rw("pc", [](Machine& machine) { return machine.cpu().pc(); },
                   [](Machine& machine, uint64_t pc) { machine.cpu().set_pc(pc); })
      .def("register", [](Machine& machine, int i) { return machine.cpu().integer(register_number(i)); }, "i"_a)
      .def("set_register", [](Machine& machine, int i, uint64_t value) {
        machine.cpu().set_integer(register_number(i), value);
      }, "i"_a, "value"_a)
      .def("float_register", [](Machine& machine, int i) { return machine.cpu().floating(register_number(i)); }, "i"_a,
           "The 64 bits of f0 to f31; a float is boxed by ones above.")
      .def("set_float_register", [](Machine& machine, int i, uint64_t bits) {
        machine.cpu().set_floating(register_number(i), bits);
      }, "i"_a, "bits"_a)
      .def("counts", [](Machine& machine) {
        nb::list rows;
        for (const auto& [pc, count] : machine.cpu().counts())
          rows.append(nb::make_tuple(pc, count.instructions, count.cycles, count.back_pressure, count.fence));
        return rows;
      }, "Of the last run with profile=True: [(pc, instructions, cycles, back_pressure, fence)], cycles include the last "
         "two. Pages past the 2048th are summed at pc 0.");
}

}  // namespace

void bind_rocket(nb::module_& m) {
  nb::exception<ElfError>(m, "ElfError", PyExc_ValueError);
  nb::class_<Coprocessor>(m, "Coprocessor", "An accelerator that a Machine can drive.");
  bind_memory(m);
  bind_queue(m);
  bind_result(m);
  bind_machine(m);
  m.attr("RETURN_ADDRESS") = kReturnAddress;
  m.def("rocket_parameters", [] {
    nb::dict rows;
    const Parameters parameters;
    for (const auto& [name, value] : parameters.all())
      rows[name.c_str()] = nb::make_tuple(value, Parameters::source(name));
    return rows;
  }, "The core's parameters: {name: (default, source)}.");
  m.def("decode_instruction", [](uint32_t bits) {
    const Instruction instruction = decode(bits);
    static constexpr const char* kNames[] = {
#define X(name, cost) #name,
        STROP_ROCKET_OPCODES(X)
#undef X
    };
    return nb::make_tuple(kNames[static_cast<int>(instruction.opcode)], instruction.rd, instruction.rs1,
                          instruction.rs2, instruction.imm, instruction.halfwords * 2);
  }, "bits"_a, "(name, rd, rs1, rs2, imm, bytes); registers numbered through, floats from 32, 64 for none.");
}

}  // namespace strop::rocket
