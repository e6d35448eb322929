// Feeds the ELF loader and the core random and mutated files under sanitizers (`make sanitize`). Prints what came of
// them; a crash, a sanitizer's report or a case past its bounds fails.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "gemmini/functional.hpp"
#include "gemmini/parameters.hpp"
#include "rocket/machine.hpp"

namespace {

using namespace strop::rocket;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kMemory = 1 << 20, kBase = 0x80000000, kInstructions = 5000;
constexpr double kMostSeconds = 5;

class Source {
 public:
  explicit Source(uint64_t seed) : engine_(seed) {}
  uint64_t bits() { return engine_(); }
  uint64_t below(uint64_t n) { return engine_() % n; }

 private:
  std::mt19937_64 engine_;
};

// Numbers that loaders trip over.
uint64_t awkward(Source& source) {
  static constexpr uint64_t kValues[] = {0, 1, 7, 56, 64, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, kBase, kBase + kMemory,
                                         kBase + kMemory - 8, kBase - 1, 1ull << 32, 1ull << 62, 1ull << 63, ~0ull, ~0ull - 4095};
  return source.below(3) == 0 ? source.bits() >> source.below(64) : kValues[source.below(std::size(kValues))];
}

void append(Bytes& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(i < 8 ? static_cast<uint8_t>(value >> 8 * i) : 0);
}

// A well-formed file whose code is random words, most of them likely instructions.
Bytes well_formed(Source& source) {
  // Sets mtvec to the handler at 32, which steps over what trapped, and mstatus.FS; goes on at 48.
  static constexpr uint32_t kStart[] = {0x00000297, 0x02028293, 0x30529073, 0x00006337, 0x30032073, 0x01c0006f,
                                        0x00000013, 0x00000013, 0x34102ff3, 0x004f8f93, 0x341f9073, 0x30200073};
  Bytes code;
  for (const uint32_t word : kStart) append(code, word, 4);
  for (int i = 0; i < 256; ++i) {
    uint32_t word = static_cast<uint32_t>(source.bits());
    static constexpr uint8_t kOpcodes[] = {0x03, 0x07, 0x0f, 0x13, 0x17, 0x1b, 0x23, 0x27, 0x2f, 0x33, 0x37, 0x3b, 0x43,
                                           0x47, 0x4b, 0x4f, 0x53, 0x63, 0x67, 0x6f, 0x73, 0x7b};
    if (source.below(8) != 0) word = (word & ~0x7fu) | kOpcodes[source.below(std::size(kOpcodes))];
    if (source.below(3) == 0) word = (word & ~0xf8000u) | 5u << 15;  // rs1 is t0, which points into the code
    append(code, word, 4);
  }
  Bytes file = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  append(file, 2, 2), append(file, 243, 2), append(file, 1, 4), append(file, kBase, 8), append(file, 64, 8);
  append(file, 120 + code.size() + 48 + 16, 8), append(file, 5, 4), append(file, 64, 2), append(file, 56, 2);
  append(file, 1, 2), append(file, 64, 2), append(file, 3, 2), append(file, 0, 2);
  append(file, 1, 4), append(file, 7, 4), append(file, 120, 8), append(file, kBase, 8), append(file, kBase, 8);
  append(file, code.size(), 8), append(file, code.size() + source.below(5000), 8), append(file, 4096, 8);
  file.insert(file.end(), code.begin(), code.end());
  const uint64_t table = file.size();
  append(file, 0, 8), append(file, 0, 8), append(file, 0, 8);
  append(file, 1, 4), append(file, 0x11, 1), append(file, 0, 1), append(file, 1, 2), append(file, kBase + 512, 8), append(file, 8, 8);
  const uint64_t names = file.size();
  for (const char c : std::string("\0tohost\0fromhost", 16)) file.push_back(static_cast<uint8_t>(c));
  append(file, 0, 64 / 2), append(file, 0, 64 / 2);
  append(file, 0, 4), append(file, 2, 4), append(file, 0, 16), append(file, table, 8), append(file, 48, 8);
  append(file, 2, 4), append(file, 0, 4), append(file, 8, 8), append(file, 24, 8);
  append(file, 0, 4), append(file, 3, 4), append(file, 0, 16), append(file, names, 8), append(file, 16, 8);
  append(file, 0, 24);
  return file;
}

void mutate(Bytes& file, Source& source) {
  const uint64_t rounds = source.below(6);
  for (uint64_t i = 0; i < rounds && !file.empty(); ++i) {
    const uint64_t limit = source.below(2) == 0 ? std::min<uint64_t>(file.size(), 120) : file.size();
    const uint64_t at = source.below(limit);
    switch (source.below(5)) {
      case 0: file[at] ^= static_cast<uint8_t>(1u << source.below(8)); break;
      case 1: file[at] = static_cast<uint8_t>(source.bits()); break;
      case 2: {
        const uint64_t value = awkward(source), bytes = uint64_t{1} << source.below(4);
        for (uint64_t k = 0; k < bytes && at + k < file.size(); ++k) file[at + k] = static_cast<uint8_t>(value >> 8 * k);
        break;
      }
      case 3: file.resize(at); break;
      default: {
        Bytes copy(file.begin() + static_cast<long>(at), file.end());
        file.insert(file.end(), copy.begin(), copy.begin() + static_cast<long>(source.below(copy.size() + 1)));
      }
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const uint64_t cases = count > 1 ? std::strtoull(arguments[1], nullptr, 0) : 10000;
  const uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 0) : 1;
  std::vector<Bytes> given;
  for (int i = 3; i < count; ++i) {
    std::ifstream stream(arguments[i], std::ios::binary);
    given.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  uint64_t refused = 0, outcomes[4] = {};
  double longest = 0;
  uint64_t slowest = 0;
  for (uint64_t i = 0; i < cases; ++i) {
    Source source(seed * 1'000'003 + i);
    Bytes file;
    if (source.below(16) == 0) {
      file.resize(source.below(4096));
      for (uint8_t& byte : file) byte = static_cast<uint8_t>(source.bits());
    } else {
      file = !given.empty() && source.below(4) == 0 ? given[source.below(given.size())] : well_formed(source);
      mutate(file, source);
    }
    const std::clock_t begun = std::clock();  // this process's own time: machines stall
    Machine machine(kMemory, kBase, Parameters());
    strop::gemmini::Functional accelerator(strop::gemmini::Geometry::from(strop::gemmini::NamedValues()),
                                           machine.memory(), source.below(2) == 0);
    if (source.below(2) == 0) machine.cpu().attach(&accelerator);
    try {
      machine.load(file, source.below(2) == 0);
    } catch (const ElfError&) {
      ++refused;
      continue;
    }
    if (source.below(4) == 0)
      machine.memory().add_range({kBase + 0x300, kBase + 0x500, true, true, source.below(2) == 0, "range"});
    if (source.below(4) == 0) machine.memory().track(kBase + 0x100, kBase + 0x900);
    const Limits limits{kInstructions, UINT64_MAX, 4096};
    const bool timed = source.below(2) == 0, profile = source.below(4) == 0;
    for (int r = 1; r < 32; ++r) machine.cpu().set_floating(r, source.bits());
    const Result result = source.below(2) == 0 ? machine.run(limits, timed, profile)
                                               : machine.call(kBase + source.below(1024) * 2, {}, 0, limits, timed, profile);
    ++outcomes[static_cast<int>(result.outcome)];
    if (profile) machine.cpu().counts();
    if (result.instructions > kInstructions || result.output.size() > 4096) {
      std::printf("case %llu went past its limits\n", static_cast<unsigned long long>(i));
      return 1;
    }
    const double took = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    if (took > longest) longest = took, slowest = i;
    if (took > kMostSeconds) {
      std::printf("case %llu took %.3f s\n", static_cast<unsigned long long>(i), took);
      return 1;
    }
  }
  std::printf("%llu files: %llu refused, %llu returned, %llu exited, %llu trapped, %llu limited; the longest (%llu) took %.3f s\n",
              static_cast<unsigned long long>(cases), static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(outcomes[0]), static_cast<unsigned long long>(outcomes[1]),
              static_cast<unsigned long long>(outcomes[2]), static_cast<unsigned long long>(outcomes[3]),
              static_cast<unsigned long long>(slowest), longest);
  return 0;
}
