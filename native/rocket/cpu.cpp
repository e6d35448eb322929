#include "cpu.hpp"

#include <algorithm>
#include <cstring>

namespace strop::rocket {

Cpu::Cpu(Memory& memory, const Parameters& parameters)
    : memory_(memory),
      timing_(parameters),
      misaligned_trap_(parameters.get("rocket.misaligned.trap") != 0),
      pages_(memory.size() / Memory::kPageBytes, nullptr) {
  memory_.observe_code(this);
}

Cpu::~Cpu() {
  drop_pages();
  memory_.observe_code(nullptr);
}

void Cpu::set_host_interface(uint64_t tohost, uint64_t fromhost) {
  tohost_ = memory_.contains(tohost, 8) ? tohost : 0;
  fromhost_ = memory_.contains(fromhost, 8) ? fromhost : 0;
  const uint64_t watched = tohost_ != 0 ? tohost_ : memory_.base();
  memory_.watch(watched, tohost_ != 0 ? watched + 8 : watched);
}

void Cpu::reset(uint64_t pc, bool float_on) {
  registers_.fill(0);
  pc_ = pc;
  reservation_ = UINT64_MAX;
  fflags_ = frm_ = 0;
  float_on_ = float_on;
  mstatus_ = mtvec_ = mepc_ = mcause_ = mtval_ = mscratch_ = mie_ = 0;
  counter_offsets_ = {};
  timing_.reset();
}

Result Cpu::run(const Limits& limits, bool timed, bool profile) {
  result_ = {};
  stopped_ = false;
  left_ = limits.instructions;
  retired_before_ = limits.instructions;
  cycle_limit_ = limits.cycles > UINT64_MAX - timing_.cycle ? UINT64_MAX : timing_.cycle + limits.cycles;
  output_limit_ = limits.output_bytes;
  counts_.clear();
  other_counts_.reset();
  refresh_busy();
  const uint64_t begun = timing_.cycle;
  timing_.stalls = {};
  if (timed) {
    profile ? execute<true, true>() : execute<true, false>();
  } else {
    profile ? execute<false, true>() : execute<false, false>();
  }
  result_.instructions = limits.instructions - left_;
  result_.cycles = timed ? timing_.cycle - begun : result_.instructions;
  result_.idle_cycle = result_.cycles;
  const bool finished = result_.outcome == Outcome::returned || result_.outcome == Outcome::exited;
  if (coprocessor_ != nullptr && finished) {
    uint64_t until = 0;
    if (drain(pc_, timing_.cycle, until) && timed) result_.idle_cycle = std::max(until, timing_.cycle) - begun;
  }
  if (result_.outcome == Outcome::limited) result_.pc = pc_;
  result_.stalls = timing_.stalls;
  return std::move(result_);
}

std::map<uint64_t, PcCount> Cpu::counts() const {
  std::map<uint64_t, PcCount> counts;
  for (const auto& [pc, page] : counts_)
    for (uint64_t slot = 0; slot < kSlots; ++slot)
      if ((*page)[slot].instructions != 0) counts[pc + slot * 2] = (*page)[slot];
  if (other_counts_ != nullptr) {
    PcCount& sum = counts[0];
    for (const PcCount& count : *other_counts_) {
      sum.instructions += count.instructions;
      sum.cycles += count.cycles;
      sum.back_pressure += count.back_pressure;
      sum.fence += count.fence;
    }
  }
  return counts;
}

PcCount* Cpu::counts_of(const CodePage& page) {
  const auto found = counts_.find(page.pc);
  if (found != counts_.end()) return found->second->data();
  if (counts_.size() >= kMaxProfiledPages) {
    if (other_counts_ == nullptr) other_counts_ = std::make_unique<PageCounts>();
    return other_counts_->data();
  }
  return (counts_[page.pc] = std::make_unique<PageCounts>())->data();
}

Cpu::CodePage* Cpu::find_page(uint64_t pc) {
  const uint64_t offset = pc - memory_.base();
  if (offset >= memory_.size() || !(memory_.flags()[offset / Memory::kPageBytes] & kExecute)) {
    if (pc == kReturnAddress) {
      stopped_ = true;
      result_.outcome = Outcome::returned;
      result_.code = static_cast<int64_t>(registers_[10]);
      result_.pc = pc;
      return nullptr;
    }
    divert(TrapKind::instruction_access, pc, pc, unfetchable(pc));
    return nullptr;
  }
  CodePage*& page = pages_[offset / Memory::kPageBytes];
  if (page != nullptr) return page;
  if (decoded_.size() >= kMaxDecodedPages) drop_pages();
  decoded_.push_back(std::make_unique<CodePage>());
  page = decoded_.back().get();
  page->pc = memory_.base() + offset / Memory::kPageBytes * Memory::kPageBytes;
  page->ops[kSlots].opcode = page->ops[kSlots + 1].opcode = Opcode::page_end;
  return page;
}

bool Cpu::decode_at(CodePage& page, uint64_t slot) {
  const uint64_t pc = page.pc + slot * 2, offset = pc - memory_.base(), number = offset / Memory::kPageBytes;
  uint8_t* const flags = memory_.flags();
  uint32_t bits = 0;
  std::memcpy(&bits, memory_.host() + offset, 2);
  if (!is_compressed(bits)) {
    const uint64_t next = (offset + 2) / Memory::kPageBytes;
    if (offset + 4 > memory_.size() || !(flags[next] & kExecute))
      return divert(TrapKind::instruction_access, pc + 2, pc, unfetchable(pc + 2));
    std::memcpy(&bits, memory_.host() + offset, 4);
    flags[next] |= Memory::kCode;
  }
  flags[number] |= Memory::kCode;
  page.ops[slot] = decode(bits);
  return true;
}

std::string Cpu::unfetchable(uint64_t pc) const {
  if (mtvec_ != 0) return {};  // the program's handler reads no text
  return "no instructions can be fetched from " + memory_.describe(pc, 2);
}

void Cpu::code_written(uint64_t address, uint64_t n) {
  const uint64_t begin = address - memory_.base() < 2 ? address : address - 2;  // an instruction may reach over its end
  const uint64_t first = begin - memory_.base(), last = address + n - 1 - memory_.base();
  for (uint64_t number = first / Memory::kPageBytes; number <= last / Memory::kPageBytes; ++number) {
    CodePage* const page = pages_[number];
    if (page == nullptr) continue;
    const uint64_t start = number * Memory::kPageBytes;
    const uint64_t from = first > start ? (first - start) / 2 : 0;
    const uint64_t to = std::min((last - start) / 2, kSlots - 1);
    for (uint64_t slot = from; slot <= to; ++slot) {
      Instruction stale;
      stale.halfwords = page->ops[slot].halfwords;  // it may be the one in execution, which steps on by its length
      page->ops[slot] = stale;
    }
  }
}

void Cpu::drop_pages() {
  for (const auto& page : decoded_) {
    const uint64_t number = (page->pc - memory_.base()) / Memory::kPageBytes;
    pages_[number] = nullptr;
    memory_.flags()[number] &= static_cast<uint8_t>(~Memory::kCode);
    if (number + 1 < pages_.size()) memory_.flags()[number + 1] &= static_cast<uint8_t>(~Memory::kCode);
  }
  decoded_.clear();
}

bool Cpu::deliver(TrapKind kind, uint64_t value, uint64_t pc, const std::string& text) {
  static constexpr uint64_t kCauses[] = {0, 1, 2, 3, 4, 5, 6, 7, 11};
  if (mtvec_ == 0) {
    stop_at(Trap(kind, value, 0, text), pc);
    return false;
  }
  mepc_ = pc;
  mcause_ = kCauses[static_cast<int>(kind)];
  mtval_ = value;
  mstatus_ = (mstatus_ & ~uint64_t{0x88}) | (mstatus_ & 8) << 4;
  next_pc_ = mtvec_ & ~uint64_t{3};
  return true;
}

bool Cpu::divert(TrapKind kind, uint64_t value, uint64_t pc, const std::string& text) {
  deliver(kind, value, pc, text);
  return false;
}

void Cpu::stop_at(const Trap& trap, uint64_t pc) {
  stopped_ = true;
  result_.outcome = Outcome::trapped;
  result_.trap = trap.kind;
  result_.pc = trap.pc != 0 ? trap.pc : pc;
  result_.address = trap.address;
  result_.text = trap.text;
}

void Cpu::stop_exited(int64_t code, uint64_t pc) {
  stopped_ = true;
  result_.outcome = Outcome::exited;
  result_.code = code;
  result_.pc = pc;
}

void Cpu::stop_limited(const char* limit) {
  stopped_ = true;
  result_.outcome = Outcome::limited;
  result_.limit = limit;
}

void Cpu::refresh_busy() {
  busy_ = coprocessor_ != nullptr && coprocessor_->busy();
  read_wanted_ = busy_ ? 0xff : kRead;  // 0xff: no page's flags are that, so every access takes the slow path
  write_wanted_ = busy_ ? 0xff : kWrite;
}

}  // namespace strop::rocket
