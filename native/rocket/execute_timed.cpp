#include "execute.hpp"

namespace strop::rocket {

template void Cpu::execute<true, false>();
template void Cpu::execute<true, true>();

}  // namespace strop::rocket
