#include "gemmini/bind_gemmini.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <tuple>

#include "gemmini/functional.hpp"
#include "rocket/trap.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace strop::gemmini {

nb::dict work_of(const Work& w) {
  nb::dict d;
  d["macs"] = w.macs, d["steps"] = w.steps, d["preloads"] = w.preloads, d["loads"] = w.loads, d["stores"] = w.stores;
  d["load_bytes"] = w.load_bytes, d["store_bytes"] = w.store_bytes, d["zero_rows"] = w.zero_rows;
  return d;
}

namespace {

PyObject* fault_type = nullptr;

Geometry geometry_of(const std::map<std::string, double>& values) {
  const NamedValues named(values);
  const Geometry g = Geometry::from(named);
  if (!named.unused().empty()) throw std::invalid_argument("no parameter is called " + named.unused());
  return g;
}

// The untimed machine with a memory of its own: what tests of commands need, without a core.
class Bench {
 public:
  Bench(const std::map<std::string, double>& values, uint64_t base, uint64_t size, bool strict, int poison)
      : memory_(size, base), executor_(geometry_of(values), memory_, strict, static_cast<uint8_t>(poison)) {}

  std::vector<uint64_t> execute(const std::vector<std::tuple<int, uint64_t, uint64_t>>& commands) {
    std::vector<uint64_t> results;
    results.reserve(commands.size());
    try {
      for (const auto& [funct, rs1, rs2] : commands) {
        if (funct < 0 || funct > 127) throw nb::value_error("funct is 0 to 127");
        results.push_back(executor_.execute(static_cast<uint8_t>(funct), rs1, rs2, 4 * results.size()));
      }
    } catch (const rocket::Trap& trap) {
      nb::object arguments = nb::make_tuple(trap.text, rocket::trap_name(trap.kind), results.size(), trap.address);
      PyErr_SetObject(fault_type, arguments.ptr());
      throw nb::python_error();
    }
    return results;
  }

  nb::bytes rows(bool accumulator, int first, int count) {
    const LocalMemory& memory = local(accumulator, first, count);
    return nb::bytes(memory.row(static_cast<uint32_t>(first)), static_cast<size_t>(count) * memory.row_bytes());
  }

  std::vector<uint32_t> written(bool accumulator, int first, int count) {
    const LocalMemory& memory = local(accumulator, first, count);
    std::vector<uint32_t> masks;
    for (int r = first; r < first + count; r++) masks.push_back(memory.written(static_cast<uint32_t>(r)));
    return masks;
  }

  rocket::Memory& memory() { return memory_; }
  Functional& executor() { return executor_; }

 private:
  const LocalMemory& local(bool accumulator, int first, int count) {
    const LocalMemory& memory = accumulator ? executor_.state().accumulator : executor_.state().scratchpad;
    if (first < 0 || count < 0 || first > memory.rows() || count > memory.rows() - first)
      throw nb::index_error("no such rows");
    return memory;
  }

  rocket::Memory memory_;
  Functional executor_;
};

void write(Bench& bench, uint64_t address, nb::handle bytes) {
  Py_buffer view;
  if (PyObject_GetBuffer(bytes.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> release(&view, PyBuffer_Release);
  bench.memory().write(address, static_cast<uint64_t>(view.len), view.buf);
}

nb::bytes read(Bench& bench, uint64_t address, uint64_t n) {
  if (!bench.memory().contains(address, n)) throw nb::index_error("outside the memory");
  std::string bytes(n, '\0');
  bench.memory().read(address, n, bytes.data());
  return nb::bytes(bytes.data(), n);
}

void add_range(Bench& bench, uint64_t begin, uint64_t end, const std::string& name, bool readable, bool writable,
               int provenance) {
  rocket::Range range;
  range.begin = begin, range.end = end, range.readable = readable, range.writable = writable, range.name = name;
  bench.memory().add_range(range);
  bench.memory().restrict_dma(true);
  if (provenance >= 0) bench.memory().track(begin, end, static_cast<uint8_t>(provenance));
}

}  // namespace

void bind_gemmini(nb::module_& m) {
  fault_type = PyErr_NewExceptionWithDoc(
      "strop._native.CommandFault",
      "A refused command, or its access to memory: (text, kind, index of the command, address).", PyExc_ValueError,
      nullptr);
  if (fault_type == nullptr) throw nb::python_error();
  m.attr("CommandFault") = nb::borrow(fault_type);
  nb::class_<Bench>(m, "GemminiUntimedBench", "The untimed Gemmini with a memory of its own, for lists of commands.")
      .def(nb::init<const std::map<std::string, double>&, uint64_t, uint64_t, bool, int>(),
           "values"_a = std::map<std::string, double>(), "base"_a = rocket::Memory::kDefaultBase,
           "size"_a = uint64_t{1} << 20, "strict"_a = true, "poison"_a = 0xA5,
           "`values`: geometry.* by name. `strict` refuses to read what was never written; else `poison` is read.")
      .def("execute", &Bench::execute, "commands"_a,
           "Does (funct, rs1, rs2) after (funct, rs1, rs2); what each returned, 0 but for COUNTER. Raises CommandFault.")
      .def("write", &write, "address"_a, "bytes"_a)
      .def("read", &read, "address"_a, "size"_a)
      .def("add_range", &add_range, "begin"_a, "end"_a, "name"_a, "readable"_a = true, "writable"_a = true,
           "provenance"_a = -1, "From the first range on DMA may touch ranges only. `provenance` starts shadow bytes.")
      .def("provenance", [](Bench& b, uint64_t begin, uint64_t end) {
        const std::vector<uint8_t> bytes = b.memory().provenance_bytes(begin, end);
        return nb::bytes(bytes.data(), bytes.size());
      }, "begin"_a, "end"_a)
      .def("rows", &Bench::rows, "accumulator"_a, "first"_a, "count"_a, "Bytes of rows of a local memory.")
      .def("written", &Bench::written, "accumulator"_a, "first"_a, "count"_a, "A mask of columns for each row.")
      .def("work", [](Bench& b) { return work_of(b.executor().state().work); }, "What was done: macs, steps, bytes, ...")
      .def("limit_rows", [](Bench& b, uint64_t most) { b.executor().limit_rows(most); }, "most"_a)
      .def("reset", [](Bench& b) { b.executor().reset(); });
}

}  // namespace strop::gemmini
