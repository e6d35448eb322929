// Loads bare-metal ELF64 files, hostile ones too: work and memory are bounded by the file's and the memory's size.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "memory.hpp"

namespace strop::rocket {

// A file that can't be loaded; the text says what is wrong with it.
struct ElfError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Segment {
  uint64_t address = 0, size = 0;
  uint8_t permissions = 0;
};

struct LoadedElf {
  uint64_t entry = 0;
  std::vector<Segment> segments;
  std::map<std::string, uint64_t, std::less<>> symbols;  // functions, objects and untyped globals
  uint64_t end = 0;                                      // past the last byte of any segment

  uint64_t symbol(std::string_view name, uint64_t otherwise = 0) const {
    const auto found = symbols.find(name);
    return found == symbols.end() ? otherwise : found->second;
  }
};

constexpr uint64_t kMaxSymbols = 1 << 16, kMaxSymbolName = 512;

// Puts the segments at their physical addresses, zeroes the rest of each, and returns what the file says of itself.
// With `protect` the pages of segments get the permissions of their headers. Throws ElfError; the memory is then
// untouched.
LoadedElf load_elf(std::span<const uint8_t> file, Memory& memory, bool protect);

}  // namespace strop::rocket
