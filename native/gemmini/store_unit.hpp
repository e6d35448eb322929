// Stores: the controller, the reads of the local memories with their scaling pipe, and the DMA writer.
// Rules: StoreController, Scratchpad (write_dispatch_q to write_issue_q), DMA (StreamWriter).
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

class StoreUnit {
 public:
  StoreUnit(const Timing& timing, State& state, rocket::Memory& memory, ReservationStation& station, Tlb& tlb);
  void reset();

  bool full() const { return queue_.size() >= timing_.store_queue; }
  void push(int slot) { queue_.push(slot); }

  bool write(Cycle now);                    // the writer
  bool read(Cycle now, Ports& ports);       // one row block from its bank into the pipe
  bool control(Cycle now);
  bool may_write() const { return writing_ || issued_ > 0; }
  bool may_read() const { return !dispatch_.empty() || issued_ < pipe_.size(); }
  bool may_control() const { return current_ >= 0 || !queue_.empty(); }
  int finished(Cycle now) const { return live_commands_ == 0 ? -1 : find_finished(now); }
  void finish(int slot);

  // The bus: beats towards memory.
  struct Packet {
    uint64_t address = 0;   // of its first useful byte
    int size = 0, useful = 0;
    bool live = false, whole = false;
    uint8_t provenance = 0;
    Origin origin;
    uint8_t data[64];
  };
  struct Beat {
    Cycle at = 0;
    int id = 0;
    bool last = false;
  };
  bool offers(Cycle now) const { return !bus_.empty() && bus_.front().at <= now; }
  Beat take() {
    const Beat b = bus_.front();
    bus_.pop();
    return b;
  }
  const Packet& packet(int id) const { return packets_[id]; }
  void put(int id);          // memory has taken the whole packet: its bytes are written now
  void acknowledged(int id) {
    packets_[id].live = false;
    --in_flight_;
  }

  bool busy() const { return !queue_.empty() || live_commands_ != 0 || draining(); }
  bool commanded() const { return !queue_.empty() || live_commands_ != 0; }
  bool pooling() const { return current_ >= 0 && at_.pooling; }
  bool writing() const { return writing_; }
  int in_flight() const { return in_flight_; }
  bool draining() const { return !dispatch_.empty() || !pipe_.empty() || writing_ || in_flight_ != 0 || !bus_.empty(); }
  Cycle next(Cycle now) const;

  int head() const { return queue_.empty() ? -1 : queue_.front(); }
  int reading() const { return dispatch_.empty() ? -1 : dispatch_.front().slot; }
  Wait wait = Wait::none, read_wait = Wait::none;
  bool active = false, out_of_ids = false;
  uint64_t bytes = 0, packets = 0, bank_stalls = 0, port_stalls = 0;

 private:
  struct Tracked {
    int slot = -1;
    int64_t left = 0;
    Cycle done = 0;
  };
  struct Dispatch {          // one block of a row, or one element of a pooling window
    int slot = 0, tracked = 0, row = 0, block = 0, pool_row = 0, pool_column = 0, window_row = 0, window_column = 0;
    bool pooling = false, padding = false, last = false;  // last: the row, or the window, is complete
  };
  struct Piped {
    Cycle at = 0;            // when it may enter the issue queue; once in it, when the writer may take it
    uint64_t address = 0;    // of the row
    int offset = 0, bytes = 0, latency = 0;
    bool last = false;
    uint8_t provenance = 0;
    Origin origin;           // of the command, whose slot may be another's by the time its bytes are written
    uint8_t data[64];
  };

  int find_finished(Cycle now) const;
  bool send_beat(Cycle now);
  void take_block();
  bool padding(const Command& c, uint32_t& row) const;
  bool advance(const Command& c);

  const Timing& timing_;
  State& state_;
  rocket::Memory& memory_;
  ReservationStation& station_;
  Tlb& tlb_;
  Ring<int, 64> queue_;
  std::vector<Tracked> tracked_;
  int live_commands_ = 0;
  int current_ = -1;         // of tracked_
  Dispatch at_;              // counters of the current command
  bool idle_next_ = false;
  Ring<Dispatch, 64> dispatch_;
  Ring<Piped, 64> pipe_;
  int issued_ = 0;           // of pipe_: those in the issue queue
  uint8_t pool_[64];
  uint8_t pool_provenance_ = 0;
  // The writer.
  bool writing_ = false;
  uint8_t row_[256];
  uint64_t row_address_ = 0;
  int row_bytes_ = 0, sent_ = 0, beats_left_ = 0, sending_ = -1;
  uint8_t row_provenance_ = 0;
  Origin row_origin_;
  std::vector<Packet> packets_;
  int in_flight_ = 0;
  Ring<Beat, 16> bus_;
};

}  // namespace strop::gemmini
