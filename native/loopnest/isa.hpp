// Which instruction sets this CPU and operating system offer.
#pragma once

#include <string>
#include <vector>

#include "spec.hpp"

namespace strop {

bool isa_supported(Isa isa);
Isa best_isa();
std::vector<Isa> supported_isas();      // best first, portable last
const char* isa_name(Isa isa);
Isa isa_from_name(const std::string& name);  // throws std::invalid_argument
int vector_registers(Isa isa);
int vector_bytes(Isa isa);

}  // namespace strop
