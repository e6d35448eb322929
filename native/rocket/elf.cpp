#include "elf.hpp"

#include <cstring>

namespace strop::rocket {
namespace {

struct FileHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, program_headers, section_headers;
  uint32_t flags;
  uint16_t header_size, program_header_size, program_header_count, section_header_size, section_header_count,
      name_section;
};
struct ProgramHeader {
  uint32_t type, flags;
  uint64_t offset, virtual_address, physical_address, file_size, memory_size, alignment;
};
struct SectionHeader {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entry_size;
};
struct Symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};
static_assert(sizeof(FileHeader) == 64 && sizeof(ProgramHeader) == 56 && sizeof(SectionHeader) == 64 &&
              sizeof(Symbol) == 24);

constexpr uint16_t kExecutable = 2, kRiscv = 243;
constexpr uint32_t kLoad = 1, kSymbolTable = 2, kStringTable = 3;

// Reads of the file, each checked against its size.
class File {
 public:
  explicit File(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool holds(uint64_t offset, uint64_t n) const { return offset <= bytes_.size() && n <= bytes_.size() - offset; }

  template <class T>
  T at(uint64_t offset, const char* what) const {
    if (!holds(offset, sizeof(T))) throw ElfError(std::string("the file ends within ") + what);
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  const uint8_t* bytes(uint64_t offset) const { return bytes_.data() + offset; }

  // The name at `offset` of the table [begin, begin + size), empty where it doesn't end within kMaxSymbolName.
  std::string_view name(uint64_t begin, uint64_t size, uint64_t offset) const {
    if (offset >= size) return {};
    const char* text = reinterpret_cast<const char*>(bytes_.data() + begin + offset);
    const size_t most = static_cast<size_t>(std::min<uint64_t>(size - offset, kMaxSymbolName));
    const void* end = std::memchr(text, 0, most);
    return end == nullptr ? std::string_view{} : std::string_view(text, static_cast<const char*>(end) - text);
  }

 private:
  std::span<const uint8_t> bytes_;
};

FileHeader read_header(const File& file) {
  const FileHeader header = file.at<FileHeader>(0, "its header");
  if (std::memcmp(header.ident, "\x7f" "ELF", 4) != 0) throw ElfError("this is not an ELF file");
  if (header.ident[4] != 2 || header.ident[5] != 1) throw ElfError("this is not a 64-bit little-endian ELF file");
  if (header.machine != kRiscv) throw ElfError("this ELF file is not for RISC-V");
  if (header.type != kExecutable) throw ElfError("this ELF file is not a static executable (ET_EXEC)");
  if (header.program_header_count == 0) throw ElfError("this ELF file has no segments");
  if (header.program_header_size < sizeof(ProgramHeader)) throw ElfError("its program headers are too small");
  return header;
}

std::vector<ProgramHeader> read_segments(const File& file, const FileHeader& header, const Memory& memory) {
  std::vector<ProgramHeader> segments;
  uint64_t total = 0;
  for (uint64_t i = 0; i < header.program_header_count; ++i) {
    if (header.program_headers > UINT64_MAX / 2) throw ElfError("its program headers lie outside the file");
    const auto segment =
        file.at<ProgramHeader>(header.program_headers + i * header.program_header_size, "a program header");
    if (segment.type != kLoad || segment.memory_size == 0) continue;
    if (segment.file_size > segment.memory_size) throw ElfError("a segment is larger in the file than in memory");
    if (!file.holds(segment.offset, segment.file_size)) throw ElfError("a segment lies outside the file");
    if (!memory.contains(segment.physical_address, segment.memory_size))
      throw ElfError("a segment is " + memory.describe(segment.physical_address, segment.memory_size) +
                     ": outside the machine's memory");
    total += segment.memory_size;  // segments that overlap without end would take as long
    if (total > memory.size()) throw ElfError("its segments are larger than the machine's memory");
    segments.push_back(segment);
  }
  if (segments.empty()) throw ElfError("this ELF file has nothing to load");
  return segments;
}

void read_symbols(const File& file, const FileHeader& header, LoadedElf& loaded) {
  if (header.section_headers == 0 || header.section_header_size < sizeof(SectionHeader) ||
      header.section_headers > UINT64_MAX / 2)
    return;
  const auto section = [&](uint64_t i, SectionHeader& to) {
    const uint64_t offset = header.section_headers + i * header.section_header_size;
    if (i >= header.section_header_count || !file.holds(offset, sizeof to)) return false;
    to = file.at<SectionHeader>(offset, "a section header");
    return file.holds(to.offset, to.type == kSymbolTable || to.type == kStringTable ? to.size : 0);
  };
  for (uint64_t i = 0; i < header.section_header_count; ++i) {
    SectionHeader table, names;
    if (!section(i, table) || table.type != kSymbolTable) continue;
    if (!section(table.link, names) || names.type != kStringTable) return;
    const uint64_t count = std::min<uint64_t>(table.size / sizeof(Symbol), kMaxSymbols);
    for (uint64_t k = 0; k < count; ++k) {
      const auto symbol = file.at<Symbol>(table.offset + k * sizeof(Symbol), "a symbol");
      const int type = symbol.info & 15;
      if (symbol.section == 0 || type > 2) continue;  // undefined; not untyped, object or function
      const std::string_view name = file.name(names.offset, names.size, symbol.name);
      if (name.empty()) continue;
      const bool global = symbol.info >> 4 != 0;  // a local doesn't displace a global of the same name
      if (global) loaded.symbols.insert_or_assign(std::string(name), symbol.value);
      else loaded.symbols.try_emplace(std::string(name), symbol.value);
    }
    return;  // a file has one symbol table
  }
}

}  // namespace

LoadedElf load_elf(std::span<const uint8_t> bytes, Memory& memory, bool protect) {
  const File file(bytes);
  const FileHeader header = read_header(file);
  const std::vector<ProgramHeader> segments = read_segments(file, header, memory);
  LoadedElf loaded;
  loaded.entry = header.entry;
  read_symbols(file, header, loaded);
  std::map<uint64_t, uint8_t> pages;
  for (const ProgramHeader& segment : segments) {
    const uint64_t begin = segment.physical_address, end = begin + segment.memory_size;
    memory.write(begin, segment.file_size, file.bytes(segment.offset));
    if (segment.memory_size > segment.file_size)
      memory.fill(begin + segment.file_size, segment.memory_size - segment.file_size, 0);
    const uint8_t permissions = static_cast<uint8_t>((segment.flags & 4 ? kRead : 0) | (segment.flags & 2 ? kWrite : 0) |
                                                     (segment.flags & 1 ? kExecute : 0));
    loaded.segments.push_back({begin, segment.memory_size, permissions});
    loaded.end = std::max(loaded.end, end);
    if (!protect) continue;
    for (uint64_t page = begin / Memory::kPageBytes; page <= (end - 1) / Memory::kPageBytes; ++page)
      pages[page] |= permissions;  // a page that two segments share gets what either asks for
  }
  for (const auto& [page, permissions] : pages)
    memory.protect(page * Memory::kPageBytes, (page + 1) * Memory::kPageBytes, permissions);
  return loaded;
}

}  // namespace strop::rocket
