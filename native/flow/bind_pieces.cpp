// The register file of a function cut into pieces: src/strop/stalls/flow/pieces.py says how, and is what this has to
// agree with.
#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flow/bind_flow.hpp"
#include "flow/python.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace strop::flow {
namespace {

using Numbers = std::vector<int>;
using Role = PyObject*;  // members of an enumeration: one object each

struct Uses {
  Numbers numbers;
  std::vector<Role> roles;
  bool operator<(const Uses& other) const { return std::tie(numbers, roles) < std::tie(other.numbers, other.roles); }
};

// What was read so far, each once; `of` has for each instruction which.
template <typename Value>
struct Distinct {
  std::map<Value, int> known;
  std::vector<const Value*> values;
  std::vector<int> of;

  int place(Value value) {
    const auto [found, is_new] = known.emplace(std::move(value), static_cast<int>(values.size()));
    if (is_new) values.push_back(&found->first);
    return found->second;
  }
};

class Cutter {
 public:
  Cutter(nb::handle slots_written, nb::handle slots_read, Role predicate, Role data)
      : slots_written_(slots_written), slots_read_(slots_read), predicate_(predicate), data_(data) {}

  void read(nb::handle code) {
    const Py_ssize_t count = size_of(code);
    for (Py_ssize_t index = 0; index < count; ++index) written(item(code, index));
    for (Py_ssize_t index = 0; index < count; ++index) read_by(item(code, index));
  }

  void cut() {
    std::vector<int> label = space_of_, sizes(nb::len(spaces_by_name_));
    for (int each : label) ++sizes[each];
    for (const Numbers* numbers : writes_.values) refine(*numbers, label, sizes);
    Numbers part;
    for (const Uses* uses : reads_.values) {
      std::vector<Role> roles;
      for (Role role : uses->roles)
        if (std::find(roles.begin(), roles.end(), role) == roles.end()) roles.push_back(role);
      for (Role role : roles) {
        part.clear();
        for (size_t place = 0; place < uses->numbers.size(); ++place)
          if (uses->roles[place] == role) part.push_back(uses->numbers[place]);
        refine(part, label, sizes);
      }
    }
    std::vector<int> dense(sizes.size(), -1);
    of_.resize(label.size());
    for (size_t number = 0; number < label.size(); ++number) {
      int& piece = dense[label[number]];
      if (piece < 0) {
        piece = static_cast<int>(first_.size());
        first_.push_back(static_cast<int>(number));
      }
      of_[number] = piece;
    }
  }

  nb::tuple result() {
    std::vector<nb::object> made(writes_.values.size());
    std::vector<int> seen(first_.size(), -1);
    for (size_t place = 0; place < made.size(); ++place) {
      Numbers pieces;
      for (int number : *writes_.values[place])
        if (std::exchange(seen[of_[number]], static_cast<int>(place)) != static_cast<int>(place))
          pieces.push_back(of_[number]);
      made[place] = tuple_of(pieces);
    }
    nb::list written, read;
    for (int which : writes_.of) written.append(made[which]);
    made.assign(reads_.values.size(), nb::object());
    for (size_t place = 0; place < made.size(); ++place) made[place] = pieces_read(*reads_.values[place]);
    for (int which : reads_.of) read.append(made[which]);
    nb::list of, first;
    for (int piece : of_) of.append(piece);
    for (int number : first_) first.append(number);
    return nb::make_tuple(registers_, known_, of, first, written, read);
  }

 private:
  // The number of a register, by what it is.
  int by_value(nb::handle one) {
    nb::object space = one.attr("space"), key = nb::make_tuple(space, one.attr("index"));
    PyObject* found = PyDict_GetItemWithError(known_.ptr(), key.ptr());
    if (found != nullptr) return static_cast<int>(PyLong_AsLong(found));
    if (PyErr_Occurred()) nb::raise_python_error();
    const int number = static_cast<int>(space_of_.size());
    known_[key] = number;
    registers_.append(one);
    PyObject* label = PyDict_GetItemWithError(spaces_by_name_.ptr(), space.ptr());
    if (label == nullptr) {
      if (PyErr_Occurred()) nb::raise_python_error();
      space_of_.push_back(static_cast<int>(nb::len(spaces_by_name_)));
      spaces_by_name_[space] = space_of_.back();
    } else {
      space_of_.push_back(static_cast<int>(PyLong_AsLong(label)));
    }
    return number;
  }

  // The number of a register that lives as long as the code does.
  int by_object(nb::handle one) {
    const auto found = of_object_.find(one.ptr());
    if (found != of_object_.end()) return found->second;
    const int number = by_value(one);
    of_object_.emplace(one.ptr(), number);
    return number;
  }

  // The words of the stack that an instruction reads or writes: nothing for nearly all.
  nb::object slots(nb::handle instruction, nb::handle which) {
    nb::object memory = instruction.attr("memory");
    if (memory.is_none() || memory.attr("slot").is_none()) return nb::make_tuple();
    return which(instruction);
  }

  void written(nb::handle instruction) {
    nb::object defs = instruction.attr("defs"), words = slots(instruction, slots_written_);
    const Py_ssize_t more = size_of(words);
    if (!more) {
      const auto known = of_defs_.find(defs.ptr());
      if (known != of_defs_.end()) return writes_.of.push_back(known->second);
    }
    Numbers numbers;
    for (Py_ssize_t at = 0, count = size_of(defs); at < count; ++at) numbers.push_back(by_object(item(defs, at)));
    for (Py_ssize_t at = 0; at < more; ++at) numbers.push_back(by_value(item(words, at)));
    const int place = writes_.place(std::move(numbers));
    if (!more) of_defs_.emplace(defs.ptr(), place);
    writes_.of.push_back(place);
  }

  void read_by(nb::handle instruction) {
    nb::object uses = instruction.attr("uses"), guard = instruction.attr("guard");
    nb::object words = slots(instruction, slots_read_);
    const Py_ssize_t more = size_of(words);
    const bool is_plain = guard.is_none() && !more;
    const auto known = of_uses_.find(uses.ptr());
    if (known != of_uses_.end() && is_plain) return reads_.of.push_back(known->second);
    Uses found;
    for (Py_ssize_t at = 0, count = size_of(uses); at < count; ++at) {
      nb::handle use = item(uses, at);
      nb::object role = use.attr("role");
      add(found, by_object(nb::object(use.attr("register"))), role.ptr(), true);
    }
    if (is_plain) {
      const int place = reads_.place(std::move(found));
      of_uses_.emplace(uses.ptr(), place);
      return reads_.of.push_back(place);
    }
    if (!guard.is_none()) add(found, by_object(nb::object(guard.attr("register"))), predicate_, false);
    for (Py_ssize_t at = 0; at < more; ++at) add(found, by_value(item(words, at)), data_, true);
    reads_.of.push_back(reads_.place(std::move(found)));
  }

  // A register is read once: the last role counts, or the first.
  void add(Uses& uses, int number, Role role, bool last) {
    if (static_cast<size_t>(number) >= at_.size()) at_.resize(2 * number + 16);
    const size_t place = at_[number];
    if (place < uses.numbers.size() && uses.numbers[place] == number) {
      if (last) uses.roles[place] = role;
      return;
    }
    at_[number] = uses.numbers.size();
    uses.numbers.push_back(number);
    uses.roles.push_back(role);
  }

  // Part each class of which a set has some, but not all.
  void refine(const Numbers& set, std::vector<int>& label, std::vector<int>& sizes) {
    members_.clear();
    for (int number : set) members_.emplace_back(label[number], number);
    std::sort(members_.begin(), members_.end());
    members_.erase(std::unique(members_.begin(), members_.end()), members_.end());
    for (size_t from = 0, to; from < members_.size(); from = to) {
      const int old = members_[from].first;
      for (to = from; to < members_.size() && members_[to].first == old;) ++to;
      const int count = static_cast<int>(to - from);
      if (count == sizes[old]) continue;
      sizes[old] -= count;
      for (size_t at = from; at < to; ++at) label[members_[at].second] = static_cast<int>(sizes.size());
      sizes.push_back(count);
    }
  }

  nb::object pieces_read(const Uses& uses) {
    std::vector<std::pair<int, Role>> pairs;
    for (size_t place = 0; place < uses.numbers.size(); ++place) {
      const std::pair<int, Role> pair{of_[uses.numbers[place]], uses.roles[place]};
      if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
    }
    nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(pairs.size())));
    if (!made.is_valid()) nb::raise_python_error();
    for (size_t place = 0; place < pairs.size(); ++place)
      PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(place),
                       nb::make_tuple(pairs[place].first, nb::handle(pairs[place].second)).release().ptr());
    return made;
  }

  nb::handle slots_written_, slots_read_;
  Role predicate_, data_;
  nb::list registers_;
  nb::dict known_, spaces_by_name_;
  std::vector<int> space_of_;  // of each register, as a number
  // Decoders make registers and operands once and use them often: these hold by identity.
  std::unordered_map<PyObject*, int> of_object_, of_defs_, of_uses_;
  Distinct<Numbers> writes_;
  Distinct<Uses> reads_;
  std::vector<size_t> at_;
  std::vector<std::pair<int, int>> members_;
  std::vector<int> of_, first_;
};

nb::tuple cut(nb::handle code, nb::handle slots_written, nb::handle slots_read, nb::handle predicate,
              nb::handle data) {
  Cutter cutter(slots_written, slots_read, predicate.ptr(), data.ptr());
  cutter.read(code);
  cutter.cut();
  return cutter.result();
}

}  // namespace

void bind_pieces(nb::module_& m) {
  m.def("cut_pieces", &cut, "code"_a, "slots_written"_a, "slots_read"_a, "predicate"_a, "data"_a,
        "A function's registers cut into pieces: (registers, their numbers by space and index, the piece of each, the\n"
        "first register of each piece, by instruction the pieces written, and those read with what for).");
}

}  // namespace strop::flow
