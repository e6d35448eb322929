// Random commands, from plausible to senseless, against the untimed Gemmini: whatever is refused is refused by a Trap.
// For a build with the address and undefined-behaviour sanitizers. Arguments: programs, seed.
#include <cstdio>
#include <cstdlib>

#include "gemmini/functional.hpp"
#include "rocket/trap.hpp"

namespace {

using namespace strop::gemmini;

struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  uint64_t below(uint64_t n) { return next() % n; }
  bool one_in(uint64_t n) { return below(n) == 0; }
};

constexpr uint64_t kBytes = 1 << 20, kBase = strop::rocket::Memory::kDefaultBase;

// A local operand: mostly low rows and small sizes.
uint64_t operand(Random& r) {
  if (r.one_in(40)) return r.next();
  uint64_t word = r.one_in(6) ? 0xFFFFFFFF : r.below(r.one_in(4) ? 20000 : 300);
  if (word != 0xFFFFFFFF && r.one_in(2)) word = (word & 0x7FF) | 0x80000000 | r.below(4) << 29 | (r.one_in(9) ? r.below(8) << 26 : 0);
  return word | r.below(r.one_in(5) ? 70 : 17) << 32 | r.below(r.one_in(20) ? 40 : 17) << 48;
}

uint64_t address(Random& r) {
  if (r.one_in(30)) return r.next();
  return r.one_in(9) ? 0 : kBase + r.below(kBytes - 8192);
}

uint64_t small_fields(Random& r, uint64_t most) {
  uint64_t word = 0;
  for (int n = 0; n < 64; n += 16) word |= r.below(most) << n;
  return word;
}

uint64_t config(Random& r) {
  if (r.one_in(10)) return r.next();
  uint64_t scale = r.one_in(3) ? r.next() >> 32 : 0x3F800000;
  return scale << 32 | r.below(r.one_in(3) ? 100 : 17) << 16 | r.below(r.one_in(9) ? 256 : 2) << 8 | r.below(256);
}

void command(Random& r, Functional& machine) {
  static constexpr uint8_t kUsual[] = {0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 6, 6, 14, 23};
  const uint64_t pick = r.below(20);
  if (pick < 16) {
    const uint8_t funct = kUsual[r.below(sizeof kUsual)];
    uint64_t rs1, rs2;
    if (funct == 0) {
      rs1 = config(r), rs2 = r.one_in(4) ? r.next() : (r.below(100) | r.below(4) << 48);
    } else if (funct >= 4 && funct <= 6) {
      rs1 = operand(r), rs2 = operand(r);
    } else {
      rs1 = funct == 23 ? (r.below(300) | r.below(4) << 32) : address(r), rs2 = operand(r);
    }
    machine.execute(funct, rs1, rs2);
  } else if (pick < 18) {
    machine.execute(9, small_fields(r, r.one_in(3) ? 40 : 16), small_fields(r, 6));
    machine.execute(10, address(r), address(r));
    machine.execute(11, address(r), address(r));
    machine.execute(12, r.below(200), r.below(200));
    machine.execute(13, r.below(200), r.below(200));
    if (r.one_in(8)) machine.execute(24, r.below(20000), r.below(20000));
    machine.execute(8, r.one_in(4) ? r.next() : r.below(2048), r.one_in(4) ? r.next() : r.below(8));
  } else if (pick == 18) {
    for (uint8_t funct = 16; funct < 20; funct++)
      machine.execute(funct, r.one_in(30) ? r.next() : small_fields(r, 9), r.one_in(30) ? r.next() : small_fields(r, 9));
    machine.execute(20, address(r), address(r));
    machine.execute(21, address(r), address(r));
    machine.execute(15, r.one_in(3) ? r.next() : r.below(128), r.one_in(3) ? r.next() : r.below(32));
  } else {
    machine.execute(static_cast<uint8_t>(r.one_in(2) ? 126 : r.below(128)), r.next(), r.next());
  }
}

}  // namespace

int main(int count, char** arguments) {
  const uint64_t programs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1000;
  const uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  Geometry small;
  small.dim = 4, small.floating = true, small.element_bytes = 4, small.accumulator_banks = 1;
  small.accumulator_bank_rows = 4096;
  uint64_t done = 0, refused = 0;
  strop::rocket::Memory memory(kBytes);
  Functional machines[4] = {{Geometry(), memory, true}, {Geometry(), memory, false}, {small, memory, true},
                            {small, memory, false}};
  for (uint64_t program = 0; program < programs; program++) {
    Random r{(seed << 32 ^ program) * 0x9E3779B97F4A7C15 | 1};
    Functional& machine = machines[program & 3];
    machine.reset();
    machine.limit_rows(1 << 20);
    for (int n = 0; n < 60; n++) {
      try {
        command(r, machine);
        done++;
      } catch (const strop::rocket::Trap& trap) {
        refused++;
        if (trap.text.empty()) return std::printf("a refusal without a reason\n"), 1;
        if (r.one_in(20)) machine.reset(), machine.limit_rows(1 << 20);
      }
    }
  }
  std::printf("%llu programs, %llu commands done, %llu refused\n", static_cast<unsigned long long>(programs),
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(refused));
}
