#include "parameters.hpp"

#include <stdexcept>

namespace strop::rocket {
namespace {

struct Known {
  const char* name;
  int64_t value;
  const char* source;
};

constexpr Known kKnown[] = {
#define X(name, value, source) {name, value, source},
    STROP_ROCKET_PARAMETERS(X)
#undef X
};

}  // namespace

Parameters::Parameters() {
  for (const Known& known : kKnown) values_[known.name] = known.value;
}

void Parameters::set(const std::string& name, int64_t value) {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::invalid_argument("the core has no parameter \"" + name + "\"");
  if (value < 0 || value > 1'000'000) throw std::invalid_argument(name + " lies between 0 and 1,000,000");
  found->second = value;
}

int64_t Parameters::get(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::invalid_argument("the core has no parameter \"" + name + "\"");
  return found->second;
}

const char* Parameters::source(const std::string& name) {
  for (const Known& known : kKnown)
    if (name == known.name) return known.source;
  throw std::invalid_argument("the core has no parameter \"" + name + "\"");
}

}  // namespace strop::rocket
