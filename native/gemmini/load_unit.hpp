// Loads: the controller that asks for rows, the DMA reader that cuts rows into packets, and the landing of their bytes
// in the local memories. Rules: LoadController, DMA (StreamReaderCore), BeatMerger, Scratchpad.
#pragma once

#include <cstdint>
#include <vector>

#include "gemmini/ports.hpp"
#include "gemmini/reservation_station.hpp"
#include "gemmini/state.hpp"
#include "gemmini/timing.hpp"
#include "gemmini/tlb.hpp"
#include "rocket/memory.hpp"

namespace strop::gemmini {

class LoadUnit {
 public:
  LoadUnit(const Timing& timing, State& state, rocket::Memory& memory, ReservationStation& station, Tlb& tlb);
  void reset();

  // From the reservation station.
  bool full() const { return queue_.size() >= timing_.load_queue; }
  void push(int slot) { queue_.push(slot); }

  // One cycle, consumers first. Each says whether anything changed.
  bool land(Cycle now, Ports& ports);
  bool packetise(Cycle now);
  bool control(Cycle now);
  bool may_land() const { return !landing_.empty() || zero_live_; }
  bool may_packetise() const { return looked_up_ >= 0 || translated_ >= 0 || cutting_ >= 0 || !requests_.empty(); }
  bool may_control() const { return current_ >= 0 || !queue_.empty(); }
  void rest() {
    wait = Wait::none;
    active = live_commands_ != 0;
  }
  // The slot of a command all of whose rows are written, or -1; `finish` takes it.
  int finished(Cycle now) const { return live_commands_ == 0 ? -1 : find_finished(now); }
  void finish(Cycle now, int slot);

  // The bus: the packet at the head of the buffer before channel A, and the beats that come back.
  struct Packet {
    uint64_t address = 0;  // aligned
    int size = 0, shift = 0, useful = 0, offset = 0;  // bytes; offset of the first useful byte in its row
    int row = 0;           // of rows_
    int beats = 0, landed = 0;
    bool live = false;
  };
  bool offers(Cycle now) const { return !bus_.empty() && bus_.front().at <= now; }
  int take() {             // its id
    const int id = bus_.front().id;
    bus_.pop();
    return id;
  }
  const Packet& packet(int id) const { return packets_[id]; }
  void sample(int id);     // memory serves it: its bytes are read now
  bool takes_beat() const { return landing_.size() < timing_.landing_queue; }
  void beat(Cycle now, int id);

  bool busy() const { return !queue_.empty() || live_commands_ != 0 || in_flight_ != 0; }
  bool commanded() const { return !queue_.empty() || live_commands_ != 0; }
  bool sending() const { return current_ >= 0 || idle_next_; }
  bool cutting() const { return cutting_ >= 0; }
  int in_flight() const { return in_flight_; }
  bool reader_busy() const { return in_flight_ != 0 || !landing_.empty(); }
  Cycle next(Cycle now) const;

  // For accounts: the command that the controller is at, and what it waits for in this cycle.
  int head() const { return queue_.empty() ? -1 : queue_.front(); }
  Wait wait = Wait::none;
  bool active = false;       // the controller asks for rows, or rows are in flight
  bool out_of_ids = false;   // a packet waits for one of the ids
  uint64_t bytes = 0, packets = 0, retries = 0, bank_stalls = 0, zero_rows = 0;
  bool pending(bool accumulator, uint32_t row) const {
    return accumulator ? pending_accumulator_[row] != 0 : pending_spad_[row] != 0;
  }

 private:
  struct Tracked {           // DMACommandTracker
    int slot = -1;
    int64_t bytes_left = 0;
    Cycle done = 0;
  };
  struct Request {           // one row
    int tracked = 0, row = 0, repeats = 0;
    bool zeros = false;
  };
  struct Row {               // a row whose packets are in flight
    Request request;
    int bytes = 0, left = 0;  // left: packets to come or to be cut
    bool cut = false;
    uint8_t provenance = 0;
    int missing[16];         // bytes of each block that have not landed
    uint8_t data[256];
  };
  struct Landing {
    Cycle at = 0;
    int row = 0, block = 0, bytes = 0;
    bool last_of_packet = false;
  };
  struct OnPath {
    Cycle at = 0;
    int id = -1;
  };

  Command& command(int tracked) { return station_.entry(tracked_[tracked].slot).command; }
  int find_finished(Cycle now) const;
  void mark(const Command& command, int by);
  bool next_packet(Cycle now);
  int block_bytes(const Command& command) const;

  const Timing& timing_;
  State& state_;
  rocket::Memory& memory_;
  ReservationStation& station_;
  Tlb& tlb_;
  Ring<int, 64> queue_;
  std::vector<Tracked> tracked_;
  int live_commands_ = 0;
  int current_ = -1, row_ = 0, rows_ = 0;  // the command being sent
  bool idle_next_ = false;
  Ring<Request, 64> requests_;
  int cutting_ = -1, cut_bytes_ = 0;  // the row of rows_buffer_ that packets are made of, and how far
  std::vector<Row> rows_buffer_;
  std::vector<int> row_free_;
  std::vector<Packet> packets_;
  int in_flight_ = 0;
  int translated_ = -1, looked_up_ = -1;   // the two stages before the bus buffer
  Ring<OnPath, 8> bus_;
  Ring<Landing, 128> landing_;
  Cycle landing_free_ = 0;
  int repeat_ = 0;
  Request zero_;
  bool zero_live_ = false;
  int zero_block_ = 0;
  std::vector<uint16_t> pending_spad_, pending_accumulator_;
};

}  // namespace strop::gemmini
