// The data flow of strop.stalls for Python. It takes and gives the lists and tuples that the Python classes have.
#include "flow/bind_flow.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>

#include "flow/python.hpp"
#include "flow/reaching.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace strop::flow {
namespace {

int number(nb::handle value, int end) {
  const long found = PyLong_AsLong(value.ptr());
  if (found == -1 && PyErr_Occurred()) nb::raise_python_error();
  if (found < 0 || found >= end) throw nb::index_error("a number is out of range");
  return static_cast<int>(found);
}

std::vector<int> numbers(nb::handle sequence, int end) {
  std::vector<int> found(size_of(sequence));
  for (size_t place = 0; place < found.size(); ++place) found[place] = number(item(sequence, place), end);
  return found;
}

// Lists of numbers or, with `pairs`, of tuples that begin with one.
Lists lists(nb::handle sequence, int end, bool pairs = false) {
  Lists found;
  const Py_ssize_t count = size_of(sequence);
  found.starts.reserve(count + 1);
  for (Py_ssize_t place = 0; place < count; ++place) {
    const nb::handle inner = item(sequence, place);
    const Py_ssize_t inside = size_of(inner);
    for (Py_ssize_t at = 0; at < inside; ++at) {
      nb::handle value = item(inner, at);
      if (pairs) {
        if (size_of(value) < 1) throw nb::index_error("a pair is empty");
        value = item(value, 0);
      }
      found.items.push_back(number(value, end));
    }
    found.close();
  }
  return found;
}

void expect(bool right, const char* what) {
  if (!right) throw nb::value_error(what);
}

Reaching* make(nb::handle starts, nb::handle ends, nb::handle successors, nb::handle predecessors, nb::handle order,
               nb::handle position, nb::bytes guarded, nb::handle written, nb::handle read, int pieces) {
  const int blocks = static_cast<int>(size_of(starts)), code = static_cast<int>(size_of(written));
  Program program;
  program.starts = numbers(starts, code + 1);
  program.ends = numbers(ends, code + 1);
  program.successors = lists(successors, blocks);
  program.predecessors = lists(predecessors, blocks);
  program.order = numbers(order, blocks);
  program.position = numbers(position, blocks);
  program.written = lists(written, pieces);
  program.read = lists(read, pieces, true);
  program.guarded.assign(guarded.c_str(), guarded.c_str() + guarded.size());
  program.pieces = pieces;
  const size_t each = blocks;
  expect(program.ends.size() == each && program.order.size() == each && program.position.size() == each &&
             program.successors.size() == blocks && program.predecessors.size() == blocks,
         "each block has an end, edges and a place");
  expect(program.read.size() == code && program.guarded.size() == static_cast<size_t>(code),
         "each instruction writes, reads and may be guarded");
  int covered = 0;
  for (int block = 0; block < blocks; ++block) {
    expect(program.starts[block] == covered && program.ends[block] >= covered, "blocks follow one another");
    covered = program.ends[block];
  }
  return new Reaching(std::move(program));
}

// What reaches each piece at an instruction, as a tuple, within a block.
class Now {
 public:
  explicit Now(const Reaching& reaching) : reaching_(reaching), sites_(reaching.program().pieces) {}

  void enter(int block) {
    block_ = block;
    for (int piece : touched_) sites_[piece].reset();
    touched_.clear();
  }
  nb::handle of(int piece) {
    nb::object& found = sites_[piece];
    if (!found.is_valid()) {
      const Sites* sites = reaching_.arriving(block_, piece);
      keep(piece, tuple_of(sites ? *sites : Sites{}));
    }
    return found;
  }
  void keep(int piece, nb::object sites) {
    if (!sites_[piece].is_valid()) touched_.push_back(piece);
    sites_[piece] = std::move(sites);
  }
  void add(int piece, int index) {
    const nb::handle before = of(piece);
    Sites sites;
    for (Py_ssize_t place = 0; place < PyTuple_GET_SIZE(before.ptr()); ++place)
      sites.push_back(static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(before.ptr(), place))));
    const auto place = std::lower_bound(sites.begin(), sites.end(), index);
    if (place == sites.end() || *place != index) sites.insert(place, index);
    keep(piece, tuple_of(sites));
  }

 private:
  const Reaching& reaching_;
  std::vector<nb::object> sites_;
  std::vector<int> touched_;
  int block_ = 0;
};

// The fields of a named tuple, which has no more than those of a tuple.
nb::object named(nb::handle type, nb::handle register_, nb::handle role, nb::handle sites) {
  PyTypeObject* kind = reinterpret_cast<PyTypeObject*>(type.ptr());
  PyObject* made = kind->tp_alloc(kind, 3);
  if (made == nullptr) nb::raise_python_error();
  PyTuple_SET_ITEM(made, 0, register_.inc_ref().ptr());
  PyTuple_SET_ITEM(made, 1, role.inc_ref().ptr());
  PyTuple_SET_ITEM(made, 2, sites.inc_ref().ptr());
  return nb::steal(made);
}

nb::list by_piece(const Reaching& reaching, nb::handle type, nb::handle registers, nb::handle read) {
  const Program& program = reaching.program();
  const int code = program.read.size();
  expect(PyType_Check(type.ptr()) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), &PyTuple_Type) &&
             reinterpret_cast<PyTypeObject*>(type.ptr())->tp_basicsize == PyTuple_Type.tp_basicsize,
         "a class of named tuples is needed");
  expect(size_of(registers) == program.pieces && size_of(read) == code, "the same pieces and instructions are needed");
  nb::list found;
  Now now(reaching);
  for (size_t block = 0; block < program.starts.size(); ++block) {
    now.enter(static_cast<int>(block));
    for (int index = program.starts[block]; index < program.ends[block]; ++index) {
      const nb::handle reads = item(read, index);
      const Range pieces = of(program.read, index);
      const Py_ssize_t count = pieces.end() - pieces.begin();
      expect(size_of(reads) == count, "the same reads are needed");
      nb::object here = nb::steal(PyTuple_New(count));
      if (!here.is_valid()) nb::raise_python_error();
      for (Py_ssize_t place = 0; place < count; ++place) {
        const int piece = pieces.begin()[place];
        const nb::handle pair = item(reads, place);
        expect(size_of(pair) == 2, "pairs of a piece and a role are needed");
        nb::object one = named(type, item(registers, piece), item(pair, 1), now.of(piece));
        PyTuple_SET_ITEM(here.ptr(), place, one.release().ptr());
      }
      found.append(std::move(here));
      const Range written = of(program.written, index);
      if (program.guarded[index]) {
        for (int piece : written) now.add(piece, index);
      } else if (written.begin() != written.end()) {
        const nb::object this_one = tuple_of(Sites{index});
        for (int piece : written) now.keep(piece, this_one);
      }
    }
  }
  return found;
}

nb::set needed_after(const Reaching& reaching, nb::dict asked) {
  const int code = reaching.program().written.size();
  std::vector<std::pair<int, std::vector<int>>> wanted;
  for (auto [index, producers] : asked) {
    auto& [at, of_it] = wanted.emplace_back(number(index, code), std::vector<int>());
    for (nb::handle producer : producers) {
      const long found = PyLong_AsLong(producer.ptr());
      if (found == -1 && PyErr_Occurred()) nb::raise_python_error();
      if (found >= 0) of_it.push_back(number(producer, code));
    }
  }
  std::sort(wanted.begin(), wanted.end());
  nb::set found;
  for (const auto& [index, producer] : reaching.needed_after(wanted)) found.add(nb::make_tuple(index, producer));
  return found;
}

nb::list written_later(const Reaching& reaching) {
  const BitRows later = reaching.written_later();
  nb::object from_bytes = nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type)).attr("from_bytes");
  nb::list found;
  std::vector<unsigned char> bytes(later.words() * 8);
  for (size_t block = 0; block < reaching.program().starts.size(); ++block) {
    const uint64_t* row = later.row(block);
    for (size_t byte = 0; byte < bytes.size(); ++byte)
      bytes[byte] = static_cast<unsigned char>(row[byte / 8] >> (byte % 8 * 8));
    found.append(from_bytes(nb::bytes(bytes.data(), bytes.size()), "little"));
  }
  return found;
}

}  // namespace

void bind_flow(nb::module_& m) {
  bind_pieces(m);
  nb::class_<Reaching>(m, "Reaching", "Liveness and reaching definitions of one function.")
      .def(nb::new_(&make), "starts"_a, "ends"_a, "successors"_a, "predecessors"_a, "order"_a, "position"_a,
           "guarded"_a, "written"_a, "read"_a, "pieces"_a,
           "The blocks of a flow.cfg.Graph, and the instructions of its flow.pieces.Pieces.")
      .def("by_piece", &by_piece, "type"_a, "registers"_a, "read"_a,
           "What each instruction reads: tuples of `type`, with the register of each piece and the role as in `read`.")
      .def("needed_after", &needed_after, "asked"_a,
           "Those (instruction, producer) of the asked where a result of the producer has a use to come.")
      .def("written_later", &written_later, "By block the pieces, as bits, that some way from its end writes.");
}

}  // namespace strop::flow
