// The interpreter's loop: one label for each operation, each ending in a jump to the next (threaded code).
// Instantiated by execute_functional.cpp and execute_timed.cpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "cpu.hpp"

#define STROP_LIKELY(x) __builtin_expect(!!(x), 1)
#define STROP_UNLIKELY(x) __builtin_expect(!!(x), 0)

namespace strop::rocket {

__extension__ typedef __int128 Signed128;
__extension__ typedef unsigned __int128 Unsigned128;

template <bool kTimed, bool kProfile>
void Cpu::execute() {
  static const void* const kLabels[] = {
#define X(name, cost) &&op_##name,
      STROP_ROCKET_OPCODES(X)
#undef X
  };

  uint64_t* const x = registers_.data();
  uint8_t* const host = memory_.host();
  const uint8_t* const flags = memory_.flags();
  const uint64_t base = memory_.base(), size = memory_.size();
  uint64_t left = left_;
  uint64_t target = pc_;
  CodePage* page = nullptr;
  const Instruction* ip = nullptr;
  [[maybe_unused]] PcCount* counts = nullptr;
  [[maybe_unused]] PcCount* slot = nullptr;
  [[maybe_unused]] uint64_t mark = kTimed ? timing_.cycle : 0;

  // All within one function, as labels are. RD, A, B: the destination and the two sources.
#define RD x[ip->rd]
#define A x[ip->rs1]
#define B x[ip->rs2]
#define IMM static_cast<int64_t>(ip->imm)
#define PC() (page->pc + static_cast<uint64_t>(ip - page->ops) * 2)
#define NEXT_PC() (PC() + ip->halfwords * 2u)
#define ISSUED() (kTimed ? timing_.cycle - 1 : 0)

#define DISPATCH()                                                                     \
  do {                                                                                 \
    if (STROP_UNLIKELY(left == 0)) goto out_of_instructions;                           \
    --left;                                                                            \
    if constexpr (kProfile) {                                                          \
      if constexpr (kTimed) {                                                          \
        if (slot != nullptr) slot->cycles += timing_.cycle - mark;                     \
        mark = timing_.cycle;                                                          \
      }                                                                                \
      slot = counts + (ip - page->ops);                                                \
      ++slot->instructions;                                                            \
    }                                                                                  \
    if constexpr (kTimed) {                                                            \
      if (STROP_UNLIKELY(timing_.cycle >= cycle_limit_)) goto out_of_cycles;           \
      if (timing_.icache.enabled()) timing_.fetch(PC());                               \
      timing_.issue(*ip);                                                              \
    }                                                                                  \
    goto* kLabels[static_cast<int>(ip->opcode)];                                       \
  } while (0)

#define NEXT()           \
  do {                   \
    ip += ip->halfwords; \
    DISPATCH();          \
  } while (0)

  // To a place `offset` bytes from here: within the page without a look-up.
#define JUMP(offset)                                                                            \
  do {                                                                                          \
    const uint64_t to = static_cast<uint64_t>(ip - page->ops) + static_cast<uint64_t>((offset) >> 1); \
    if (STROP_UNLIKELY(to >= kSlots)) {                                                         \
      target = page->pc + to * 2;                                                               \
      goto far;                                                                                 \
    }                                                                                           \
    if constexpr (kTimed) LANDING(page->pc + to * 2);                                           \
    ip = page->ops + to;                                                                        \
    DISPATCH();                                                                                 \
  } while (0)

  // A 4-byte instruction that straddles two fetches costs a cycle when it is jumped to.
#define LANDING(to)                                                                                            \
  do {                                                                                                         \
    if ((to) & 2) timing_.control(timing_.branches.landing((to), (host[(to)-base] & 3) == 3));                 \
  } while (0)

  // After a slow path that returned false.
#define DIVERTED()           \
  do {                       \
    if (stopped_) goto stop; \
    target = next_pc_;       \
    goto far_trap;           \
  } while (0)

#define TRAP(kind, value, text)                                                         \
  do {                                                                                  \
    if (!deliver(TrapKind::kind, (value), PC(), (text))) goto stop;                     \
    target = next_pc_;                                                                  \
    goto far_trap;                                                                      \
  } while (0)

  goto far;

far_trap:
  if constexpr (kTimed) timing_.flush();
far:
  page = find_page(target);
  if (STROP_UNLIKELY(page == nullptr)) {
    if (stopped_) goto stop_outside;
    if (left == 0) goto out_of_instructions_outside;  // a handler that can't be fetched would trap for ever
    --left;
    target = next_pc_;
    goto far_trap;
  }
  ip = page->ops + (target - page->pc) / 2;
  if constexpr (kTimed) LANDING(target);
  if constexpr (kProfile) {
    if (slot != nullptr) {
      if constexpr (kTimed) slot->cycles += timing_.cycle - mark, mark = timing_.cycle;
      slot = nullptr;
    }
    counts = counts_of(*page);
  }
  DISPATCH();

#include "execute_integer.inc"
#include "execute_memory.inc"
#include "execute_system.inc"

[[maybe_unused]] out_of_cycles:
  if constexpr (kProfile) --slot->instructions;
  ++left;
  stop_limited("cycles");
  goto stop;
out_of_instructions:
  stop_limited("instructions");
stop:
  pc_ = PC();
  left_ = left;
  if constexpr (kTimed && kProfile) {
    if (slot != nullptr) slot->cycles += timing_.cycle - mark;
  }
  return;
out_of_instructions_outside:
  stop_limited("instructions");
stop_outside:
  pc_ = target;
  left_ = left;
  if constexpr (kTimed && kProfile) {
    if (slot != nullptr) slot->cycles += timing_.cycle - mark;
  }
}

#undef RD
#undef A
#undef B
#undef IMM
#undef PC
#undef NEXT_PC
#undef ISSUED
#undef DISPATCH
#undef NEXT
#undef JUMP
#undef LANDING
#undef DIVERTED
#undef TRAP

}  // namespace strop::rocket
