// Gemmini for a Machine to drive: with time and without, the loop unrollers on or off.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "gemmini/bind_gemmini.hpp"
#include "gemmini/functional.hpp"
#include "gemmini/loop_gate.hpp"
#include "gemmini/machine.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace strop::gemmini {

nb::dict account_dict(TimedMachine& machine);

namespace {

using Values = std::map<std::string, double>;
using Timed = LoopGate<TimedMachine>;
using Untimed = LoopGate<Functional>;

}  // namespace

void bind_gemmini_core(nb::module_& m) {
  // Neither keeps the machine alive: the machine keeps it once attached, and a ring of the two would never be freed.
  nb::class_<Timed, rocket::Coprocessor>(m, "GemminiTimed", "Gemmini, stepped cycle by cycle, for a Machine to drive.")
      .def("__init__", [](Timed* self, rocket::Memory& memory, const Values& values, bool strict, int poison,
                          bool loops) {
        new (self) Timed(loops, memory, NamedValues(values), strict, static_cast<uint8_t>(poison));
      }, "memory"_a, "values"_a, "strict"_a = true, "poison"_a = 0xA5, "loops"_a = true,
           "`memory` is that of the machine it is attached to. Without `loops` the unrollers' commands are illegal.")
      .def("record", [](Timed& t, size_t events) { t.inner().reset(events); }, "events"_a,
           "Start anew and keep so many events for a timeline.")
      .def("account", [](Timed& t) { return account_dict(t.inner()); })
      .def("work", [](Timed& t) { return work_of(t.inner().state().work); }, "What was done: macs, steps, bytes, ...");
  nb::class_<Untimed, rocket::Coprocessor>(m, "GemminiFunctional", "Gemmini without time, for a Machine to drive.")
      .def("__init__", [](Untimed* self, rocket::Memory& memory, const Values& values, bool strict, int poison,
                          bool loops) {
        new (self) Untimed(loops, Geometry::from(NamedValues(values)), memory, strict, static_cast<uint8_t>(poison));
      }, "memory"_a, "values"_a, "strict"_a = true, "poison"_a = 0xA5, "loops"_a = true)
      .def("limit_rows", [](Untimed& u, uint64_t most) { u.inner().limit_rows(most); }, "most"_a,
           "Refuse the command that moves or feeds a row past so many: nothing else bounds what one of a loop costs.")
      .def("work", [](Untimed& u) { return work_of(u.inner().state().work); }, "What was done: macs, steps, bytes, ...");
}

}  // namespace strop::gemmini
