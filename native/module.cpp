// The extension module strop._native: binds the code generator. Importing it must not import NumPy.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "flow/bind_flow.hpp"
#include "gemmini/bind_gemmini.hpp"
#include "loopnest/arena.hpp"
#include "loopnest/call.hpp"
#include "loopnest/evaluator.hpp"
#include "loopnest/isa.hpp"
#include "loopnest/kernel.hpp"
#include "loopnest/peak.hpp"
#include "loopnest/spec_from_python.hpp"
#include "rocket/bind_rocket.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// Part of the key of stored results: raise it when the same nest compiles to other code.
constexpr const char* kGeneratorVersion = "1";

std::shared_ptr<strop::Kernel> compile(const char* isa, nb::handle dtype, nb::handle reduce, nb::handle combine,
                                       bool accumulate, int accumulators, nb::handle sizes, nb::handle output_axis,
                                       nb::handle inputs, nb::handle output, nb::handle extras, nb::handle loops,
                                       nb::handle epilogue) {
  strop::Spec spec = strop::read_problem(dtype, reduce, combine, accumulate, sizes, output_axis, inputs, output,
                                         extras, epilogue);
  spec.isa = strop::isa_from_name(isa);
  spec.accumulators = accumulators;
  strop::read_loops(spec, loops);
  if (!strop::isa_supported(spec.isa))
    throw strop::SpecError(std::string("this CPU has no ") + strop::isa_name(spec.isa));
  nb::gil_scoped_release release;
  return std::make_shared<strop::Kernel>(std::move(spec));
}

nb::bytes code_of(const strop::Kernel& kernel) {
  if (kernel.code() == nullptr) return nb::bytes("", 0);
  return nb::bytes(reinterpret_cast<const char*>(kernel.code()), kernel.code_bytes());
}

bool note_for_perf(const strop::Kernel& kernel, const std::string& name) {
  return kernel.code() != nullptr && strop::perf_map_note(name, kernel.code(), kernel.code_bytes());
}

void bind_kernel(nb::module_& m) {
  nb::exception<strop::SpecError>(m, "SpecError", PyExc_ValueError);
  nb::class_<strop::Kernel>(m, "Kernel", "A compiled nest.")
      .def_prop_ro("isa", [](const strop::Kernel& k) { return strop::isa_name(k.spec().isa); })
      .def_prop_ro("code_bytes", &strop::Kernel::code_bytes, "Bytes of machine code; 0 on the portable path.")
      .def_prop_ro("compile_seconds", &strop::Kernel::compile_seconds)
      .def_prop_ro("parallel_iterations", &strop::Kernel::parallel_iterations, "0 without a parallel loop.")
      .def_prop_ro("scratch_bytes", &strop::Kernel::scratch_bytes, "What each thread needs for packing.")
      .def_prop_ro("arithmetic_instructions", &strop::Kernel::arithmetic_instructions,
                   "Multiply-adds in the code, not those executed.")
      .def_prop_ro("address", [](const strop::Kernel& k) { return reinterpret_cast<uintptr_t>(k.code()); },
                   "Where the code stands in this process; 0 on the portable path.")
      .def("code", &code_of, "The machine code.")
      .def("note_for_perf", &note_for_perf, "name"_a,
           "Name the code in perf's map of this process; False where there is no code or no map can be written.");
  m.def("compile", &compile, "isa"_a, "dtype"_a, "reduce"_a, "combine"_a, "accumulate"_a, "accumulators"_a, "sizes"_a,
        "output_axis"_a, "inputs"_a, "output"_a, "extras"_a, "loops"_a, "epilogue"_a,
        "Compile a nest. Strides are in bytes, one for each axis, 0 where the axis doesn't index the tensor.\n\n"
        "A loop is (axis, step, balanced, pieces, partner or -1, partner_steps, unroll, parallel, pack,\n"
        "[(tensor, distance)]), outermost first; an operation of the epilogue (\"operand\", i), (\"number\", v) or\n"
        "(name,), in postfix order. Raises SpecError where this nest cannot be compiled.");
}

std::unique_ptr<strop::Evaluator> make_evaluator(nb::handle dtype, nb::handle reduce, nb::handle combine,
                                                 bool accumulate, nb::handle sizes, nb::handle output_axis,
                                                 nb::handle inputs, nb::handle output, nb::handle extras,
                                                 nb::handle epilogue, const std::vector<int>& alignments,
                                                 uint64_t seed, const std::string& guard) {
  strop::Spec problem = strop::read_problem(dtype, reduce, combine, accumulate, sizes, output_axis, inputs, output,
                                            extras, epilogue);
  if (alignments.size() != problem.inputs.size() + 1 + problem.extras.size())
    throw nb::value_error("alignments has a class for each input, the output and each epilogue operand");
  if (!guard.empty() && guard != "after" && guard != "before")
    throw nb::value_error("guard is empty, \"after\" or \"before\"");
  const strop::Guard pages = guard.empty()      ? strop::Guard::none
                             : guard == "after" ? strop::Guard::after
                                                : strop::Guard::before;
  nb::gil_scoped_release release;
  return std::make_unique<strop::Evaluator>(std::move(problem), alignments, seed, pages);
}

nb::tuple check(strop::Evaluator& evaluator, const strop::Kernel& kernel, int threads) {
  strop::Check check;
  {
    nb::gil_scoped_release release;
    check = evaluator.check(kernel, threads);
  }
  return nb::make_tuple(check.right, check.worst, check.detail, check.inputs_unchanged, check.fences_whole);
}

std::vector<std::vector<double>> time(strop::Evaluator& evaluator, const std::vector<strop::Kernel*>& kernels,
                                      int rounds, double sample_seconds, int threads, bool rotate) {
  nb::gil_scoped_release release;
  return evaluator.time({kernels.begin(), kernels.end()}, rounds, sample_seconds, threads, rotate);
}

nb::bytes memory(strop::Evaluator& evaluator, size_t which) {
  const strop::TensorBuffer& tensor = evaluator.tensor(which);
  return nb::bytes(tensor.lowest(), tensor.span());
}

void bind_evaluator(nb::module_& m) {
  nb::class_<strop::Evaluator>(m, "Evaluator", "Checks and times kernels of one problem on memory of its own.")
      .def(nb::new_(&make_evaluator), "dtype"_a, "reduce"_a, "combine"_a, "accumulate"_a, "sizes"_a, "output_axis"_a,
           "inputs"_a, "output"_a, "extras"_a, "epilogue"_a, "alignments"_a, "seed"_a = 0, "guard"_a = "",
           "The problem as for `compile`. `alignments`: for each input, the output and each epilogue operand 64, 32,\n"
           "16 or the element's size. Inputs are uniform in [-1, 1) by `seed`. With guard=\"after\" or \"before\" pages\n"
           "that fault on any access touch that end of each operand, and `alignments` is not followed.")
      .def("check", &check, "kernel"_a, "threads"_a = 1,
           "(right, worst, detail, inputs_unchanged, fences_whole): `worst` is the largest error over the one allowed.")
      .def("time", &time, "kernels"_a, "rounds"_a, "sample_seconds"_a, "threads"_a = 1, "rotate"_a = true,
           "Seconds per call, a list of `rounds` samples for each kernel, taken interleaved.")
      .def("memory", &memory, "which"_a, "The bytes of an operand, in the order of `alignments`, lowest address first.")
      .def("address", [](strop::Evaluator& e, size_t which) {
        return reinterpret_cast<uintptr_t>(e.tensor(which).zero());
      }, "which"_a, "Where the element at index zero of an operand stands.")
      .def_prop_ro("complete", [](const strop::Evaluator& e) { return e.reference().complete; },
                   "Whether all output values are compared; False: a sample, corners included.")
      .def_prop_ro("compared", [](const strop::Evaluator& e) { return e.reference().value.size(); },
                   "How many output values are compared.");
}

void bind_machine(nb::module_& m) {
  m.def("supported_isas", [] {
    nb::list names;
    for (strop::Isa isa : strop::supported_isas()) names.append(strop::isa_name(isa));
    return names;
  }, "The instruction sets this CPU and system offer, best first; the last is \"portable\".");
  m.def("detected_isa", [] { return strop::isa_name(strop::best_isa()); }, "The best of supported_isas().");
  m.def("vector_registers", [](const char* isa) { return strop::vector_registers(strop::isa_from_name(isa)); },
        "isa"_a);
  m.def("vector_bytes", [](const char* isa) { return strop::vector_bytes(strop::isa_from_name(isa)); }, "isa"_a);
  m.def("peak_probe", [](const char* isa, nb::handle dtype, double seconds) {
    const strop::Scalar type = strop::read_scalar(dtype);
    nb::gil_scoped_release release;
    return strop::measure_peak(strop::isa_from_name(isa), type, seconds);
  }, "isa"_a, "dtype"_a, "seconds"_a = 0.01, "FLOP/s of one core on registers alone, the best sample.");
  m.def("arena_use", [] {
    const strop::ArenaUse use = strop::arena_use();
    return nb::make_tuple(use.mapped, use.live);
  }, "(bytes mapped for machine code, bytes in use).");
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "strop's code generator";
  m.def("version", [] { return STROP_VERSION; }, "The version of strop this module was built for.");
  m.def("generator_version", [] { return kGeneratorVersion; },
        "Changes when the same nest compiles to other code; part of the key of stored results.");
  bind_machine(m);
  bind_kernel(m);
  bind_evaluator(m);
  strop::rocket::bind_rocket(m);
  strop::gemmini::bind_gemmini(m);
  strop::gemmini::bind_gemmini_core(m);
  strop::gemmini::bind_gemmini_timed(m);
  strop::flow::bind_flow(m);
  if (!strop::add_call_type(m.ptr())) nb::raise_python_error();
}
