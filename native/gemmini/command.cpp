#include "gemmini/command.hpp"

#include <cstdio>

#include "rocket/trap.hpp"

namespace strop::gemmini {

namespace {

int bits(uint64_t word, int high, int low) {
  return static_cast<int>((word >> low) & ((uint64_t{1} << (high - low + 1)) - 1));
}

Operand operand(uint64_t packed) {
  Operand o;
  o.at.word = static_cast<uint32_t>(packed);
  o.columns = bits(packed, 47, 32);
  o.rows = bits(packed, 63, 48);
  return o;
}

std::string number(uint64_t n) { return std::to_string(n); }

Activation activation_of(int field) { return static_cast<Activation>(field); }

}  // namespace

const char* name_of(Kind kind, uint8_t funct) {
  switch (kind) {
    case Kind::config_execute: return "config_ex";
    case Kind::config_load: return "config_ld";
    case Kind::config_store: return "config_st";
    case Kind::config_norm: return "config_norm";
    case Kind::load: return funct == kLoad2 ? "mvin2" : funct == kLoad3 ? "mvin3" : "mvin";
    case Kind::store: return "mvout";
    case Kind::store_spad: return "mvout_spad";
    case Kind::preload: return "preload";
    case Kind::compute_preloaded: return "compute_preloaded";
    case Kind::compute_accumulated: return "compute_accumulated";
    case Kind::flush: return "flush";
    case Kind::clock_gate: return "clock_gate";
    case Kind::counter: return "counter";
    case Kind::loop_ws_setting: return "loop_ws setting";
    case Kind::loop_ws: return "loop_ws";
    case Kind::loop_conv_setting: return "loop_conv_ws setting";
    case Kind::loop_conv: return "loop_conv_ws";
  }
  return "command";
}

std::string describe(const Command& command) {
  char at[32];
  std::snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(command.origin.pc));
  std::string text = name_of(command.kind, command.funct);
  text += " (";
  if (command.origin.unrolled != 0) text += "step " + number(command.origin.unrolled) + " of a loop, ";
  return text + "command " + number(command.origin.index) + ", at " + at + ")";
}

void refuse(const Command& command, const std::string& why) {
  throw rocket::Trap(rocket::TrapKind::illegal_command, 0, 0, describe(command) + ": " + why, command.origin.pc);
}

Command Decoder::decode(uint8_t funct, uint64_t rs1, uint64_t rs2, const Origin& origin) {
  Command c;
  c.funct = funct;
  c.rs1 = rs1;
  c.rs2 = rs2;
  c.origin = origin;
  switch (funct) {
    case kConfig: {
      const Decoder before = *this;  // a refused configuration changes nothing
      try {
        configure(c);
      } catch (...) {
        *this = before;
        throw;
      }
      break;
    }
    case kLoad:
    case kLoad2:
    case kLoad3:
      c.kind = Kind::load;
      c.unit = Unit::load;
      c.state_id = funct == kLoad2 ? 1 : funct == kLoad3 ? 2 : 0;
      c.address = rs1;
      c.first = operand(rs2);
      c.load = load_[c.state_id];
      check_load(c);
      break;
    case kStore:
    case kStoreSpad:
      c.kind = funct == kStore ? Kind::store : Kind::store_spad;
      c.unit = Unit::store;
      c.first = operand(rs2);
      c.store = store_;
      c.norm = norm_;
      if (funct == kStore) {
        c.address = rs1;
      } else {
        c.second.at.word = static_cast<uint32_t>(rs1);
        c.second.columns = c.first.columns;
        c.second.rows = c.first.rows;
        c.spad_stride = static_cast<uint32_t>(rs1 >> 32);
      }
      check_store(c);
      break;
    case kPreload:
      c.kind = Kind::preload;
      c.unit = Unit::execute;
      c.first = operand(rs1);
      c.second = operand(rs2);
      c.execute = execute_;
      check_preload(c);
      break;
    case kComputePreloaded:
    case kComputeAccumulated:
      c.kind = funct == kComputePreloaded ? Kind::compute_preloaded : Kind::compute_accumulated;
      c.unit = Unit::execute;
      c.first = operand(rs1);
      c.second = operand(rs2);
      c.execute = execute_;
      check_compute(c);
      break;
    case kFlush: c.kind = Kind::flush; break;
    case kClockGate: c.kind = Kind::clock_gate; break;
    case kCounter: c.kind = Kind::counter; break;
    case kLoopWs: c.kind = Kind::loop_ws; break;
    case kLoopConv: c.kind = Kind::loop_conv; break;
    default:
      if ((funct >= kLoopWsBounds && funct <= kLoopWsStridesDC) || funct == kLoopWsSpadAB || funct == kLoopWsSpadC)
        c.kind = Kind::loop_ws_setting;
      else if (funct >= kLoopConv1 && funct <= kLoopConv6)
        c.kind = Kind::loop_conv_setting;
      else
        refuse(c, "there is no command with funct " + number(funct));
  }
  return c;
}

void Decoder::configure(Command& c) {
  const uint64_t rs1 = c.rs1, rs2 = c.rs2;
  switch (rs1 & 3) {
    case 0:
      c.kind = Kind::config_execute;
      c.unit = Unit::execute;
      execute_.a_stride = bits(rs1, 31, 16);
      execute_.c_stride = bits(rs2, 63, 48);
      if (!(rs1 & 0x80)) {
        if ((rs2 & 0xFFFFFFFF) > 31) refuse(c, "a shift of " + number(rs2 & 0xFFFFFFFF) + " is more than 31");
        execute_.weight_stationary = bits(rs1, 2, 2);
        execute_.activation = activation_of(bits(rs1, 4, 3));
        execute_.a_transpose = bits(rs1, 8, 8);
        execute_.b_transpose = bits(rs1, 9, 9);
        execute_.shift = static_cast<int>(rs2 & 31);
        execute_.scale_bits = static_cast<uint32_t>(rs1 >> 32);
        if (execute_.weight_stationary && execute_.a_transpose && execute_.b_transpose)
          refuse(c, "weight-stationary steps can't transpose both A and B");
        if (!execute_.weight_stationary && execute_.b_transpose && !execute_.a_transpose)
          refuse(c, "output-stationary steps can't transpose B alone");
      }
      c.execute = execute_;
      break;
    case 1: {
      c.kind = Kind::config_load;
      c.unit = Unit::load;
      c.state_id = bits(rs1, 4, 3);
      if (c.state_id > 2) refuse(c, "there are load configurations 0 to 2, not 3");
      LoadConfig& load = load_[c.state_id];
      load.stride = rs2;
      load.shrink = bits(rs1, 2, 2);
      load.block_stride = bits(rs1, 31, 16);
      load.scale_bits = static_cast<uint32_t>(rs1 >> 32);
      load.pixel_repeats = bits(rs1, 15, 8) == 0 ? 1 : bits(rs1, 15, 8);
      if (load.pixel_repeats > 1 && !geometry_.pixel_repeats)
        refuse(c, "this machine has no pixel repeats (first-layer optimisations)");
      c.load = load;
      break;
    }
    case 2:
      c.kind = Kind::config_store;
      c.unit = Unit::store;
      store_.stride = static_cast<uint32_t>(rs2);
      store_.activation = activation_of(bits(rs1, 3, 2));
      if ((rs2 >> 32) != 0xFFFFFFFF) store_.scale_bits = static_cast<uint32_t>(rs2 >> 32);
      store_.pool_stride = bits(rs1, 5, 4);
      store_.pool_size = bits(rs1, 7, 6);
      if (store_.pool_stride != 0) {
        store_.pool_up = bits(rs1, 9, 8);
        store_.pool_left = bits(rs1, 11, 10);
        store_.pool_out_columns = bits(rs1, 31, 24);
        store_.pool_rows = bits(rs1, 39, 32);
        store_.pool_columns = bits(rs1, 47, 40);
        store_.out_rows = bits(rs1, 55, 48);
        store_.out_columns = bits(rs1, 63, 56);
        if (store_.pool_size == 0) refuse(c, "a pool stride without a pool size");
      } else if (store_.pool_size != 0) {
        refuse(c, "a pool size without a pool stride (one-dimensional mvouts aren't modelled)");
      }
      c.store = store_;
      break;
    default:
      c.kind = Kind::config_norm;
      c.unit = Unit::store;
      norm_.stat = bits(rs1, 15, 8);
      if (norm_.stat >= geometry_.norm_stats)
        refuse(c, "statistics " + number(norm_.stat) + " of " + number(geometry_.norm_stats));
      if (!bits(rs1, 17, 17)) {
        norm_.qb = static_cast<int32_t>(rs2);
        norm_.qc = static_cast<int32_t>(rs2 >> 32);
        (bits(rs1, 18, 18) ? norm_.qln2_inverse : norm_.qln2) = static_cast<int32_t>(rs1 >> 32);
        const int field = bits(rs1, 16, 16) << 2 | (static_cast<int>(store_.activation) & 3);
        if (field > 4) refuse(c, "activation " + number(field) + " doesn't exist");
        store_.activation = activation_of(field);
      }
      c.norm = norm_;
      c.store = store_;
  }
}

}  // namespace strop::gemmini
