// The stack frame and the general registers of a kernel.
//
// rdi output, rsi first input, rdx second input; rax and r11 are scratch; the rest count loops, then stack slots do.
#pragma once

#include <cstddef>

namespace strop::frame {

constexpr int kCounters[] = {1 /*rcx*/, 8, 9, 10, 3 /*rbx*/, 5 /*rbp*/, 12, 13, 14, 15};
constexpr int kCounterRegisters = 10;
constexpr int kVolatileCounters = 4;  // the first ones need no saving
constexpr size_t kMaxLoops = 32;
constexpr size_t kMaxExtras = 16;

constexpr int kBeginSlot = 0;
constexpr int kEndSlot = 8;
constexpr int kResumeSlot = 16;
constexpr int kScratchSlot = 24;
constexpr int kPointerSlots = 32;                       // unpacked pointers of the two inputs
constexpr int kExtraSlots = 64;                         // pointers of the epilogue's operands
constexpr int kCounterSlots = kExtraSlots + 8 * 16;     // counters beyond the registers
constexpr int kBounce = kCounterSlots + 8 * 48;         // one vector, for strided accesses
constexpr int kSpills = kBounce + 64;                   // output vectors moved out of the epilogue's way
constexpr int kBytes = kSpills + 64 * 32 + 8;

}  // namespace strop::frame
