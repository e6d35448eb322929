// The machine's memory: one block of host memory with page permissions for the core and byte-exact ranges for DMA.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trap.hpp"

namespace strop::rocket {

// Permissions of the core, by page.
enum Permission : uint8_t { kRead = 1, kWrite = 2, kExecute = 4 };

// What a shadow byte says of the byte it stands for; bits 2 to 7 are ids of operands it descends from.
enum Provenance : uint8_t { kArrayComputed = 1, kCpuWritten = 2 };
constexpr uint8_t operand_bit(int id) { return static_cast<uint8_t>(1u << (2 + id)); }  // id 0 to 5

// A named range of bytes, [begin, end), and what DMA and the core may do there.
struct Range {
  uint64_t begin = 0, end = 0;
  bool readable = true, writable = true;  // by DMA
  bool cpu_forbidden = false;             // the core may neither read nor write it
  std::string name;
};

// Learns of writes to pages that it marked kCode.
class CodeObserver {
 public:
  virtual ~CodeObserver() = default;
  virtual void code_written(uint64_t address, uint64_t n) = 0;
};

class Memory {
 public:
  static constexpr uint64_t kDefaultBase = 0x80000000;
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 34;

  // Maps `size` bytes (rounded up to pages, at most kMaxBytes), zero, at `base` (a multiple of the page), all permissions on. Throws
  // std::bad_alloc where the host gives no memory, std::invalid_argument for a bad size or base.
  explicit Memory(uint64_t size, uint64_t base = kDefaultBase);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint64_t base() const { return base_; }
  uint64_t size() const { return size_; }
  uint64_t end() const { return base_ + size_; }
  bool contains(uint64_t address, uint64_t n) const { return address - base_ <= size_ && n <= size_ - (address - base_); }

  // Host side, no permissions: the judge, the loader, tests. Throw std::out_of_range outside the memory.
  void read(uint64_t address, uint64_t n, void* to) const;
  void write(uint64_t address, uint64_t n, const void* from);
  void fill(uint64_t address, uint64_t n, uint8_t byte);
  void clear();  // all bytes zero, all permissions on, no ranges, no shadow, DMA unrestricted

  // The core's permissions of every page that [begin, end) touches.
  void protect(uint64_t begin, uint64_t end, uint8_t permissions);

  // DMA and cpu_forbidden ranges. While `restrict_dma` is off (as at first) DMA may touch all of memory; on, an access
  // must lie within one range that allows it.
  void add_range(Range range);  // std::invalid_argument outside the memory
  void clear_ranges();
  void restrict_dma(bool on) { dma_restricted_ = on; }
  const std::vector<Range>& ranges() const { return ranges_; }

  // DMA of the accelerator: throws Trap{dma_read_access | dma_write_access} with address, size and the nearest range's
  // name. A write marks the shadow bytes that it covers with `provenance`, where there are any.
  void dma_read(uint64_t address, uint64_t n, void* to) const;
  void dma_write(uint64_t address, uint64_t n, const void* from, uint8_t provenance = 0);

  // Shadow bytes for [begin, end), all set to `initial`. A store of the core sets those it covers to kCpuWritten.
  void track(uint64_t begin, uint64_t end, uint8_t initial = 0);
  // The union of the shadow bytes of [address, address + n): 0 where none are kept.
  uint8_t provenance(uint64_t address, uint64_t n) const;
  // One shadow byte for each byte of [begin, end), 0 where none are kept.
  std::vector<uint8_t> provenance_bytes(uint64_t begin, uint64_t end) const;

  // --- for the core ---------------------------------------------------------------------------------------------
  // One byte of flags for each page: its permissions, and two reasons to leave the fast path.
  static constexpr uint8_t kWatched = 8;  // a forbidden or tracked range touches the page
  static constexpr uint8_t kCode = 16;    // instructions decoded from the page are kept
  uint8_t* host() { return bytes_; }
  const uint8_t* host() const { return bytes_; }
  uint8_t* flags() { return flags_.data(); }
  bool forbidden(uint64_t address, uint64_t n) const;     // some byte lies in a cpu_forbidden range
  void note_cpu_write(uint64_t address, uint64_t n);      // shadow bytes, and instructions decoded from there
  void watch(uint64_t begin, uint64_t end);  // the one span where the core leaves the fast path in any case (HTIF's)
  void observe_code(CodeObserver* observer) { observer_ = observer; }
  std::string describe(uint64_t address, uint64_t n) const;  // "0x80001000 (4 bytes), 16 bytes past the end of A"

 private:
  struct Shadow {
    uint64_t begin, end;
    std::vector<uint8_t> bytes;
  };
  const Range* allowing(uint64_t address, uint64_t n, bool write) const;
  void rewatch();
  void code_written(uint64_t address, uint64_t n);

  uint64_t base_, size_;
  uint8_t* bytes_ = nullptr;
  std::vector<uint8_t> flags_;
  std::vector<Range> ranges_;
  std::vector<Shadow> shadows_;
  uint64_t watched_begin_ = 0, watched_end_ = 0;
  CodeObserver* observer_ = nullptr;
  bool dma_restricted_ = false;
};

}  // namespace strop::rocket
