// The core: RV64IMAFDC + Zicsr + Zifencei in machine mode, with an accelerator on custom-3.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coprocessor.hpp"
#include "decode.hpp"
#include "memory.hpp"
#include "parameters.hpp"
#include "result.hpp"
#include "timing.hpp"

namespace strop::rocket {

static_assert(std::endian::native == std::endian::little, "the machine's memory is read as the host's own");

// Where a called function returns to: never within a memory (Memory's constructor keeps the page free).
constexpr uint64_t kReturnAddress = 0xfffffffffffff000;

class Cpu final : public CodeObserver {
 public:
  Cpu(Memory& memory, const Parameters& parameters);
  ~Cpu() override;
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  void attach(Coprocessor* coprocessor) { coprocessor_ = coprocessor; }
  void set_host_interface(uint64_t tohost, uint64_t fromhost);  // 0: there is none

  // Registers, CSRs, predictors and counters as after reset; `float_on` sets mstatus.FS as a start-up code would.
  void reset(uint64_t pc, bool float_on);

  uint64_t pc() const { return pc_; }
  void set_pc(uint64_t pc) { pc_ = pc; }
  uint64_t integer(int i) const { return registers_[static_cast<size_t>(i)]; }
  void set_integer(int i, uint64_t value) { if (i != 0) registers_[static_cast<size_t>(i)] = value; }
  uint64_t floating(int i) const { return registers_[static_cast<size_t>(kFloat + i)]; }
  void set_floating(int i, uint64_t value) { registers_[static_cast<size_t>(kFloat + i)] = value; }

  // Executes from pc() until it ends; never longer than the limits. With `profile`, counts by pc are kept.
  Result run(const Limits& limits, bool timed, bool profile);

  // Of the last profiled run, by address. At most kMaxProfiledPages pages are told apart; the rest is at address 0.
  std::map<uint64_t, PcCount> counts() const;

  void code_written(uint64_t address, uint64_t n) override;

 private:
  static constexpr uint64_t kSlots = Memory::kPageBytes / 2;
  static constexpr size_t kMaxDecodedPages = 512, kMaxProfiledPages = 2048;

  struct CodePage {
    uint64_t pc;
    Instruction ops[kSlots + 2];  // two sentinels: a last instruction of four bytes steps over the first
  };
  using PageCounts = std::array<PcCount, kSlots + 2>;

  template <bool kTimed, bool kProfile> void execute();  // execute.hpp

  // Slow paths: false means that the program doesn't go on at the next instruction: stopped, or next_pc_ is a handler.
  CodePage* find_page(uint64_t pc);  // null: the same
  bool decode_at(CodePage& page, uint64_t slot);
  bool load(uint64_t address, uint64_t n, uint64_t pc, uint64_t cycle, uint64_t& value);
  bool store(uint64_t address, uint64_t n, uint64_t value, uint64_t pc, uint64_t cycle);
  bool atomic(const Instruction& i, uint64_t pc, uint64_t cycle);
  bool reserved(const Instruction& i, uint64_t pc, uint64_t cycle);  // lr and sc
  bool float_operation(const Instruction& i);                        // false: illegal
  template <bool kWide> bool float_operation(const Instruction& i, uint8_t rounding);
  bool csr(const Instruction& i, uint64_t retired, uint64_t cycle);  // false: illegal
  bool read_csr(uint32_t number, uint64_t retired, uint64_t cycle, uint64_t& value) const;
  bool write_csr(uint32_t number, uint64_t value, uint64_t retired, uint64_t cycle);
  bool rocc(const Instruction& i, uint64_t pc, uint64_t cycle, Accepted& accepted);
  bool advance(uint64_t pc, uint64_t cycle);
  bool drain(uint64_t pc, uint64_t cycle, uint64_t& until);
  bool environment_call(uint64_t pc);
  bool host_request(uint64_t pc);
  bool write_output(uint64_t address, uint64_t n, uint64_t pc);

  // Delivers to the program's handler (next_pc_; returns true) or stops.
  bool deliver(TrapKind kind, uint64_t value, uint64_t pc, const std::string& text);
  bool divert(TrapKind kind, uint64_t value, uint64_t pc, const std::string& text);  // the same; always false
  bool allowed(uint64_t address, uint64_t n, bool write, uint64_t pc);
  bool misalignment_traps(uint64_t address, uint64_t n) const { return misaligned_trap_ && address % n != 0; }
  std::string unfetchable(uint64_t pc) const;
  void stop_at(const Trap& trap, uint64_t pc);
  void stop_exited(int64_t code, uint64_t pc);
  void stop_limited(const char* limit);
  void refresh_busy();
  void drop_pages();
  PcCount* counts_of(const CodePage& page);

  Memory& memory_;
  Coprocessor* coprocessor_ = nullptr;
  Timing timing_;
  bool misaligned_trap_;
  uint64_t tohost_ = 0, fromhost_ = 0;

  std::array<uint64_t, kRegisters> registers_{};
  uint64_t pc_ = 0, next_pc_ = 0;
  uint64_t reservation_ = UINT64_MAX, reserved_value_ = 0;
  uint8_t fflags_ = 0, frm_ = 0;
  bool float_on_ = false;
  uint64_t mstatus_ = 0, mtvec_ = 0, mepc_ = 0, mcause_ = 0, mtval_ = 0, mscratch_ = 0, mie_ = 0;
  std::array<uint64_t, 2> counter_offsets_{};  // what a write of mcycle or minstret adds to the view of it

  std::vector<CodePage*> pages_;  // by number, null where nothing is decoded
  std::vector<std::unique_ptr<CodePage>> decoded_;
  std::map<uint64_t, std::unique_ptr<PageCounts>> counts_;
  std::unique_ptr<PageCounts> other_counts_;  // of pages past kMaxProfiledPages

  // Of the run in progress.
  bool stopped_ = false, busy_ = false;
  uint8_t read_wanted_ = kRead, write_wanted_ = kWrite;  // what a page's flags must be for the fast path
  uint64_t left_ = 0, retired_before_ = 0, cycle_limit_ = UINT64_MAX, output_limit_ = 0;
  Result result_;
};

}  // namespace strop::rocket
