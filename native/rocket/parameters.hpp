// The core's parameters by name, each with the source of its default.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "opcodes.hpp"

namespace strop::rocket {

// Files are those of rocket-chip's src/main/scala (2026-04) unless another source is named. Latency n: a dependent
// instruction issues n cycles after its producer; 1 is back to back.
//
// X(name, default, source)
#define STROP_ROCKET_PARAMETERS(X)                                                                                     \
  X("rocket.latency.alu", 1, "RocketCore.scala: bypassed from EX")                                                     \
  X("rocket.latency.jump", 2, "RocketCore.scala: ex_cannot_bypass of jalr")                                            \
  X("rocket.latency.load_word", 2, "RocketCore.scala: fastLoadWord, bypassed from MEM")                                \
  X("rocket.latency.load_byte", 3, "RocketCore.scala: mem_reg_slow_bypass for lb, lh, sc, amo")                        \
  X("rocket.latency.load_float", 3, "RocketCore.scala: fp_data_hazard_ex, _mem")                                       \
  X("rocket.latency.csr", 3, "RocketCore.scala: ex_ and mem_cannot_bypass")                                            \
  X("rocket.latency.float_to_int", 3, "FPU.scala: FPToInt answers in MEM; mem_cannot_bypass")                          \
  X("rocket.latency.int_to_float", 3, "FPU.scala: ifpuLatency 2, written back one later")                              \
  X("rocket.latency.float_move", 3, "FPU.scala: fpmuLatency 2, written back one later")                                \
  X("rocket.latency.float_single", 4, "FPU.scala: sfmaLatency 3, written back one later")                              \
  X("rocket.latency.float_double", 5, "FPU.scala: dfmaLatency 4, scoreboard")                                          \
  X("rocket.latency.float_divide_single", 29, "berkeley-hardfloat DivSqrtRecFN_small: a bit a cycle; blocks the FPU")   \
  X("rocket.latency.float_divide_double", 58, "berkeley-hardfloat DivSqrtRecFN_small: a bit a cycle; blocks the FPU")   \
  X("rocket.multiply.unroll", 8, "Configs.scala WithNHugeCores: mulUnroll 8 bits a cycle")                             \
  X("rocket.multiply.early_out", 1, "Configs.scala WithNHugeCores: mulEarlyOut")                                       \
  X("rocket.divide.early_out", 1, "Configs.scala WithNHugeCores: divEarlyOut, a bit a cycle")                          \
  X("rocket.muldiv.overhead", 2, "Multiplier.scala: request in EX, result the cycle after the last step")              \
  X("rocket.branch.mispredict", 3, "RocketCore.scala: resolved in MEM, fetch takes two cycles more")                   \
  X("rocket.branch.redirect", 1, "Frontend.scala: predecoded in fetch stage 2 when the BTB misses")                    \
  X("rocket.branch.misaligned_target", 1, "IBuf.scala: a 4-byte instruction that straddles two 4-byte fetches")        \
  X("rocket.branch.btb_entries", 28, "BTB.scala BTBParams")                                                            \
  X("rocket.branch.bht_entries", 512, "BTB.scala BHTParams: 1-bit counters, 8 bits of history hashed to 3")            \
  X("rocket.branch.ras_entries", 6, "BTB.scala BTBParams")                                                             \
  X("rocket.stage.memory", 2, "RocketCore.scala: cycles from issue (ID) to MEM")                                       \
  X("rocket.stage.writeback", 3, "RocketCore.scala: cycles from issue (ID) to WB, where RoCC commands leave")          \
  X("rocket.flush", 4, "RocketCore.scala: wb_reg_flush_pipe refetches from WB (CSR writes, fence.i, mret, traps)")     \
  X("rocket.rocc.replay", 5, "RocketCore.scala: a refused command is refetched from WB and offered again no sooner")   \
  X("rocket.rocc.retry", 4, "RocketCore.scala: rocc_blocked is a register, then ID to WB")                             \
  X("rocket.misaligned.cycles", 0, "assumed: Rocket traps, see rocket.misaligned.trap")                                \
  X("rocket.misaligned.trap", 0, "0: misaligned accesses work; 1: they trap as in Rocket")                             \
  X("rocket.icache.sets", 0, "0: always hits. Rocket: 64")                                                             \
  X("rocket.icache.ways", 4, "ICache.scala ICacheParams")                                                              \
  X("rocket.icache.miss", 30, "assumed: a refill from L2")                                                             \
  X("rocket.dcache.sets", 0, "0: always hits. Rocket: 64")                                                             \
  X("rocket.dcache.ways", 8, "Configs.scala WithNHugeCores")                                                           \
  X("rocket.dcache.miss", 30, "assumed: a refill from L2")                                                             \
  X("rocket.cache.line", 64, "CacheBlockBytes")

class Parameters {
 public:
  Parameters();  // the defaults

  // Throws std::invalid_argument for an unknown name or a value outside 0 to 1,000,000.
  void set(const std::string& name, int64_t value);
  int64_t get(const std::string& name) const;
  const std::map<std::string, int64_t>& all() const { return values_; }
  static const char* source(const std::string& name);

 private:
  std::map<std::string, int64_t> values_;
};

}  // namespace strop::rocket
