// Executable memory. One memfd is mapped twice, once writable and once executable, so that no mapping is ever both
// and a new kernel costs no system call.
//
// After a fork, parent and child see the same pages. The child inherits only the executable views (the writable ones
// are not copied into it), takes fresh chunks for its own kernels and releases nothing of its parent's; the parent
// never reuses a block that was live at the fork, since the child may still call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strop {

// Copies finished, position-independent code into the arena; returns its executable address (64-byte aligned).
// Thread safe. Throws std::runtime_error when the system refuses executable memory.
const uint8_t* arena_install(const uint8_t* code, size_t bytes);

// Gives the bytes of an installed kernel back for reuse.
void arena_release(const uint8_t* code, size_t bytes);

// Bytes of chunks this process has mapped for its own kernels, and of those the bytes in use.
struct ArenaUse {
  size_t mapped = 0;
  size_t live = 0;
};
ArenaUse arena_use();

// Names the code for `perf report`: appends a line to perf's map of this process, /tmp/perf-PID.map.
// False when the file cannot be written.
bool perf_map_note(const std::string& name, const uint8_t* code, size_t bytes);

}  // namespace strop
