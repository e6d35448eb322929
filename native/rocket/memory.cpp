#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

namespace strop::rocket {
namespace {

constexpr uint8_t kAll = kRead | kWrite | kExecute;

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Memory::Memory(uint64_t size, uint64_t base) : base_(base), size_((size + kPageBytes - 1) / kPageBytes * kPageBytes) {
  if (size == 0 || size > kMaxBytes) throw std::invalid_argument("a memory has 1 byte to 16 GiB");
  // The last page of the address space stays free: the address to which a called function returns lies there.
  if (base % kPageBytes != 0 || base > UINT64_MAX - kMaxBytes - kPageBytes)
    throw std::invalid_argument("a memory begins at a multiple of 4096 and ends before the address space does");
  void* block = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  bytes_ = static_cast<uint8_t*>(block);
  flags_.assign(size_ / kPageBytes, kAll);
}

Memory::~Memory() { munmap(bytes_, size_); }

void Memory::read(uint64_t address, uint64_t n, void* to) const {
  if (!contains(address, n)) throw std::out_of_range(describe(address, n) + " is outside the memory");
  if (n != 0) std::memcpy(to, bytes_ + (address - base_), n);
}

void Memory::write(uint64_t address, uint64_t n, const void* from) {
  if (!contains(address, n)) throw std::out_of_range(describe(address, n) + " is outside the memory");
  if (n == 0) return;
  std::memcpy(bytes_ + (address - base_), from, n);
  code_written(address, n);
}

void Memory::fill(uint64_t address, uint64_t n, uint8_t byte) {
  if (!contains(address, n)) throw std::out_of_range(describe(address, n) + " is outside the memory");
  if (n == 0) return;
  std::memset(bytes_ + (address - base_), byte, n);
  code_written(address, n);
}

void Memory::clear() {
  code_written(base_, size_);
  // Mapping anew gives the host its pages back and costs nothing for those never touched.
  if (mmap(bytes_, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    throw std::bad_alloc();
  std::fill(flags_.begin(), flags_.end(), kAll);
  ranges_.clear();
  shadows_.clear();
  watched_begin_ = watched_end_ = 0;
  dma_restricted_ = false;
}

void Memory::protect(uint64_t begin, uint64_t end, uint8_t permissions) {
  if (begin > end || !contains(begin, end - begin)) throw std::out_of_range(hex(begin) + " is outside the memory");
  if (begin == end) return;
  code_written(begin, end - begin);  // what may no longer be executed is not to be found decoded
  for (uint64_t page = (begin - base_) / kPageBytes; page <= (end - 1 - base_) / kPageBytes; ++page)
    flags_[page] = static_cast<uint8_t>((flags_[page] & ~kAll) | (permissions & kAll));
}

void Memory::add_range(Range range) {
  if (range.begin > range.end || !contains(range.begin, range.end - range.begin))
    throw std::invalid_argument("range \"" + range.name + "\" is outside the memory");
  ranges_.push_back(std::move(range));
  rewatch();
}

void Memory::clear_ranges() {
  ranges_.clear();
  rewatch();
}

void Memory::rewatch() {
  for (uint8_t& flags : flags_) flags &= static_cast<uint8_t>(~kWatched);
  const auto mark = [this](uint64_t begin, uint64_t end) {
    if (begin == end) return;
    for (uint64_t page = (begin - base_) / kPageBytes; page <= (end - 1 - base_) / kPageBytes; ++page)
      flags_[page] |= kWatched;
  };
  for (const Range& range : ranges_)
    if (range.cpu_forbidden) mark(range.begin, range.end);
  for (const Shadow& shadow : shadows_) mark(shadow.begin, shadow.end);
  mark(watched_begin_, watched_end_);
}

void Memory::watch(uint64_t begin, uint64_t end) {
  if (begin > end || !contains(begin, end - begin)) throw std::out_of_range(hex(begin) + " is outside the memory");
  watched_begin_ = begin, watched_end_ = end;
  rewatch();
}

const Range* Memory::allowing(uint64_t address, uint64_t n, bool write) const {
  for (const Range& range : ranges_)
    if ((write ? range.writable : range.readable) && address >= range.begin && address <= range.end &&
        n <= range.end - address)
      return &range;
  return nullptr;
}

void Memory::dma_read(uint64_t address, uint64_t n, void* to) const {
  if (!contains(address, n) || (dma_restricted_ && allowing(address, n, false) == nullptr))
    throw Trap(TrapKind::dma_read_access, address, n, "the accelerator may not read " + describe(address, n));
  std::memcpy(to, bytes_ + (address - base_), n);
}

void Memory::dma_write(uint64_t address, uint64_t n, const void* from, uint8_t provenance) {
  if (!contains(address, n) || (dma_restricted_ && allowing(address, n, true) == nullptr))
    throw Trap(TrapKind::dma_write_access, address, n, "the accelerator may not write " + describe(address, n));
  std::memcpy(bytes_ + (address - base_), from, n);
  if (n == 0) return;
  code_written(address, n);
  for (Shadow& shadow : shadows_) {
    const uint64_t begin = std::max(address, shadow.begin), end = std::min(address + n, shadow.end);
    if (begin < end) std::memset(shadow.bytes.data() + (begin - shadow.begin), provenance, end - begin);
  }
}

void Memory::track(uint64_t begin, uint64_t end, uint8_t initial) {
  if (begin > end || !contains(begin, end - begin)) throw std::out_of_range(hex(begin) + " is outside the memory");
  shadows_.push_back({begin, end, std::vector<uint8_t>(end - begin, initial)});
  rewatch();
}

uint8_t Memory::provenance(uint64_t address, uint64_t n) const {
  uint8_t all = 0;
  for (const Shadow& shadow : shadows_) {
    const uint64_t begin = std::max(address, shadow.begin), end = std::min(address + n, shadow.end);
    for (uint64_t at = begin; at < end; ++at) all |= shadow.bytes[at - shadow.begin];
  }
  return all;
}

std::vector<uint8_t> Memory::provenance_bytes(uint64_t begin, uint64_t end) const {
  if (begin > end || !contains(begin, end - begin)) throw std::out_of_range(hex(begin) + " is outside the memory");
  std::vector<uint8_t> bytes(end - begin, 0);
  for (const Shadow& shadow : shadows_) {
    const uint64_t first = std::max(begin, shadow.begin), last = std::min(end, shadow.end);
    for (uint64_t at = first; at < last; ++at) bytes[at - begin] |= shadow.bytes[at - shadow.begin];
  }
  return bytes;
}

bool Memory::forbidden(uint64_t address, uint64_t n) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return range.cpu_forbidden && address < range.end && address + n > range.begin;
  });
}

void Memory::note_cpu_write(uint64_t address, uint64_t n) {
  for (Shadow& shadow : shadows_) {
    const uint64_t begin = std::max(address, shadow.begin), end = std::min(address + n, shadow.end);
    if (begin < end) std::memset(shadow.bytes.data() + (begin - shadow.begin), kCpuWritten, end - begin);
  }
  code_written(address, n);
}

void Memory::code_written(uint64_t address, uint64_t n) {
  if (observer_ == nullptr) return;
  const uint64_t first = (address - base_) / kPageBytes, last = (address + n - 1 - base_) / kPageBytes;
  for (uint64_t page = first; page <= last; ++page)
    if (flags_[page] & kCode) return observer_->code_written(address, n);
}

std::string Memory::describe(uint64_t address, uint64_t n) const {
  std::string text = hex(address) + " (" + std::to_string(n) + (n == 1 ? " byte)" : " bytes)");
  const Range* nearest = nullptr;
  uint64_t distance = UINT64_MAX;
  for (const Range& range : ranges_) {
    const uint64_t apart = address < range.begin ? range.begin - address : address >= range.end ? address - range.end : 0;
    if (apart < distance) nearest = &range, distance = apart;
  }
  if (nearest == nullptr) return text;
  if (address < nearest->begin)
    return text + ", " + std::to_string(nearest->begin - address) + " bytes before " + nearest->name;
  if (address >= nearest->end)
    return text + ", " + std::to_string(address - nearest->end) + " bytes past the end of " + nearest->name;
  return text + ", " + std::to_string(address - nearest->begin) + " bytes into " + nearest->name;
}

}  // namespace strop::rocket
