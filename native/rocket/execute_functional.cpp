#include "execute.hpp"

namespace strop::rocket {

template void Cpu::execute<false, false>();
template void Cpu::execute<false, true>();

}  // namespace strop::rocket
