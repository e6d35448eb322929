// The host-target interface of bare-metal programs (`tohost`, `fromhost`), and the two environment calls that a program
// without a trap handler may make: write and exit. Everything that they output is bounded.
#include <algorithm>

#include "cpu.hpp"

namespace strop::rocket {
namespace {

constexpr uint64_t kCallWrite = 64, kCallExit = 93, kCallExitGroup = 94;  // Linux's numbers, as in HTIF's proxied calls
constexpr uint64_t kNotImplemented = static_cast<uint64_t>(-38);

}  // namespace

bool Cpu::write_output(uint64_t address, uint64_t n, uint64_t pc) {
  if (!memory_.contains(address, n)) {
    stop_at(Trap(TrapKind::load_access, address, n, "output from outside the memory: " + memory_.describe(address, n)), pc);
    return false;
  }
  const uint64_t room = output_limit_ - std::min<uint64_t>(output_limit_, result_.output.size());
  const char* text = reinterpret_cast<const char*>(memory_.host()) + (address - memory_.base());
  result_.output.append(text, static_cast<size_t>(std::min(n, room)));
  if (n <= room) return true;
  stop_limited("output");
  return false;
}

bool Cpu::environment_call(uint64_t pc) {
  const uint64_t number = registers_[17];
  if (number == kCallExit || number == kCallExitGroup) {
    stop_exited(static_cast<int32_t>(registers_[10]), pc);
    return false;
  }
  if (number != kCallWrite)
    return divert(TrapKind::environment_call, number, pc, "an environment call other than write and exit");
  if (!allowed(registers_[11], std::max<uint64_t>(1, registers_[12]), false, pc)) return false;
  if (!write_output(registers_[11], registers_[12], pc)) return false;
  registers_[10] = registers_[12];
  return true;
}

bool Cpu::host_request(uint64_t pc) {
  uint64_t request = 0;
  memory_.read(tohost_, 8, &request);
  if (request == 0) return true;
  const uint64_t device = request >> 56, command = request >> 48 & 0xff, payload = request & 0xffffffffffff;
  const auto answered = [this](uint64_t answer) {
    const uint64_t none = 0;
    memory_.write(tohost_, 8, &none);
    if (answer != 0 && fromhost_ != 0) memory_.write(fromhost_, 8, &answer);
    return true;
  };
  if (device == 1 && command == 1) {  // the console: one character
    if (result_.output.size() >= output_limit_) {
      stop_limited("output");
      return false;
    }
    result_.output.push_back(static_cast<char>(payload));
    return answered(0);
  }
  if (device != 0) return answered(0);
  if (payload & 1) {
    stop_exited(static_cast<int64_t>(payload >> 1), pc);
    return false;
  }
  uint64_t call[4] = {};  // number and three arguments; the result takes the number's place
  if (!memory_.contains(payload, sizeof call)) {
    stop_at(Trap(TrapKind::load_access, payload, sizeof call,
                 "a request to the host from outside the memory: " + memory_.describe(payload, sizeof call)), pc);
    return false;
  }
  memory_.read(payload, sizeof call, call);
  uint64_t result = kNotImplemented;
  if (call[0] == kCallExit) {
    stop_exited(static_cast<int32_t>(call[1]), pc);
    return false;
  }
  if (call[0] == kCallWrite) {
    if (!write_output(call[2], call[3], pc)) return false;
    result = call[3];
  }
  memory_.write(payload, 8, &result);
  return answered(1);
}

}  // namespace strop::rocket
