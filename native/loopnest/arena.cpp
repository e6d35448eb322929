// Executable memory in chunks, each one memfd with a writable and an executable view; see arena.hpp.
#include "arena.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

#ifndef MFD_EXEC  // Linux 6.3; without it a hardened system seals memfds against execution
#define MFD_EXEC 0x0010U
#endif

namespace strop {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kChunkBytes = size_t{4} << 20;

struct Block {
  size_t bytes;
  uint64_t epoch;  // the number of forks before it was installed
};

struct Chunk {
  uint8_t* writable;
  uint8_t* executable;
  size_t bytes;
  std::map<size_t, size_t> free;  // offset -> bytes; neighbours are always merged
  std::map<size_t, Block> live;
};

struct Arena {
  std::mutex mutex;
  std::vector<Chunk> chunks;
  uint64_t epoch = 0;
};

// Leaked: kernels may be released by Python objects that outlive static destructors.
Arena& arena() {
  static Arena* instance = [] {
    auto* made = new Arena;
    pthread_atfork([] { arena().mutex.lock(); },
                   [] {
                     ++arena().epoch;
                     arena().mutex.unlock();
                   },
                   [] {
                     // The inherited code stays mapped and callable, but is the parent's to manage.
                     arena().chunks.clear();
                     arena().mutex.unlock();
                   });
    return made;
  }();
  return *instance;
}

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

[[noreturn]] void refuse(const char* what) {
  throw std::runtime_error(std::string("this system refuses executable memory (") + what + ": " +
                           std::strerror(errno) + "); the portable path needs none");
}

int open_memory(size_t bytes) {
  int fd = memfd_create("strop-code", MFD_CLOEXEC | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = memfd_create("strop-code", MFD_CLOEXEC);
  if (fd < 0) refuse("memfd_create");
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    const int reason = errno;
    close(fd);
    errno = reason;
    refuse("ftruncate");
  }
  return fd;
}

Chunk map_chunk(size_t wanted) {
  const size_t bytes = round_up(wanted > kChunkBytes ? wanted : kChunkBytes, size_t{1} << 16);
  const int fd = open_memory(bytes);
  void* writable = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int writable_error = errno;
  void* executable = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  const int executable_error = errno;
  close(fd);
  if (writable == MAP_FAILED || executable == MAP_FAILED) {
    if (writable != MAP_FAILED) munmap(writable, bytes);
    if (executable != MAP_FAILED) munmap(executable, bytes);
    errno = writable == MAP_FAILED ? writable_error : executable_error;
    refuse("mmap");
  }
  madvise(writable, bytes, MADV_DONTFORK);  // a child can't write its parent's code
  return {static_cast<uint8_t*>(writable), static_cast<uint8_t*>(executable), bytes, {{0, bytes}}, {}};
}

// First fit; kernels are few and of similar size.
const uint8_t* take(Chunk& chunk, size_t bytes, uint64_t epoch, const uint8_t* code, size_t code_bytes) {
  for (auto hole = chunk.free.begin(); hole != chunk.free.end(); ++hole) {
    const auto [offset, length] = *hole;
    if (length < bytes) continue;
    chunk.free.erase(hole);
    if (length > bytes) chunk.free.emplace(offset + bytes, length - bytes);
    chunk.live.emplace(offset, Block{bytes, epoch});
    std::memcpy(chunk.writable + offset, code, code_bytes);
    return chunk.executable + offset;
  }
  return nullptr;
}

void give_back(Chunk& chunk, size_t offset, size_t bytes) {
  auto next = chunk.free.lower_bound(offset);
  if (next != chunk.free.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = chunk.free.erase(next);
  }
  if (next != chunk.free.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      previous->second += bytes;
      return;
    }
  }
  chunk.free.emplace_hint(next, offset, bytes);
}

}  // namespace

const uint8_t* arena_install(const uint8_t* code, size_t bytes) {
  const size_t rounded = round_up(bytes > 0 ? bytes : 1, kAlignment);
  Arena& a = arena();
  const std::lock_guard<std::mutex> lock(a.mutex);
  for (Chunk& chunk : a.chunks)
    if (const uint8_t* installed = take(chunk, rounded, a.epoch, code, bytes)) return installed;
  a.chunks.push_back(map_chunk(rounded));
  return take(a.chunks.back(), rounded, a.epoch, code, bytes);
}

void arena_release(const uint8_t* code, size_t) {
  Arena& a = arena();
  const std::lock_guard<std::mutex> lock(a.mutex);
  for (Chunk& chunk : a.chunks) {
    if (code < chunk.executable || code >= chunk.executable + chunk.bytes) continue;
    const size_t offset = static_cast<size_t>(code - chunk.executable);
    const auto block = chunk.live.find(offset);
    if (block == chunk.live.end()) return;
    const Block released = block->second;
    chunk.live.erase(block);
    if (released.epoch == a.epoch) give_back(chunk, offset, released.bytes);
    return;
  }
}

ArenaUse arena_use() {
  Arena& a = arena();
  const std::lock_guard<std::mutex> lock(a.mutex);
  ArenaUse use;
  for (const Chunk& chunk : a.chunks) {
    use.mapped += chunk.bytes;
    for (const auto& [offset, block] : chunk.live) use.live += block.bytes;
  }
  return use;
}

bool perf_map_note(const std::string& name, const uint8_t* code, size_t bytes) {
  char path[64];
  std::snprintf(path, sizeof path, "/tmp/perf-%ld.map", static_cast<long>(getpid()));
  std::FILE* map = std::fopen(path, "ae");
  if (map == nullptr) return false;
  const bool written = std::fprintf(map, "%zx %zx %s\n", reinterpret_cast<size_t>(code), bytes, name.c_str()) > 0;
  return std::fclose(map) == 0 && written;
}

}  // namespace strop
