// Liveness and reaching definitions of one function: src/strop/stalls/flow/definitions.py says what they are, and is
// what this has to agree with.
#pragma once
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flow/bits.hpp"

namespace strop::flow {

// Lists of lists in one: list i is items[starts[i]] to items[starts[i + 1]] (exclusive).
struct Lists {
  std::vector<int> starts{0};
  std::vector<int> items;

  void close() { starts.push_back(static_cast<int>(items.size())); }
  int size() const { return static_cast<int>(starts.size()) - 1; }
  const int* begin(int list) const { return items.data() + starts[list]; }
  const int* end(int list) const { return items.data() + starts[list + 1]; }
};

struct Range {
  const int* first;
  const int* last;
  const int* begin() const { return first; }
  const int* end() const { return last; }
};
inline Range of(const Lists& lists, int list) { return {lists.begin(list), lists.end(list)}; }

// Blocks with their instructions, edges, and place in reverse postorder; per instruction the pieces of registers it
// writes and reads, and whether a guard may switch it off.
struct Program {
  std::vector<int> starts, ends, order, position;
  Lists successors, predecessors;
  Lists written, read;
  std::vector<char> guarded;
  int pieces = 0;
};

using Sites = std::vector<int>;  // instructions, ascending
using Shared = std::shared_ptr<const Sites>;

class Reaching {
 public:
  explicit Reaching(Program program);

  const Program& program() const { return program_; }
  // What arrives at a block of a piece that is live there; null for nothing.
  const Sites* arriving(int block, int piece) const;
  // Those (instruction, producer) of the asked, which are ascending, where a result of the producer has a use to come.
  std::vector<std::pair<int, int>> needed_after(const std::vector<std::pair<int, std::vector<int>>>& asked) const;
  // The pieces that some way from a block's end writes.
  BitRows written_later() const;

 private:
  void summarise();
  void find_live();
  void propagate();
  void send(int block, int piece, const Shared& sites);

  Program program_;
  BitRows exposed_, killed_, live_in_, live_out_;
  std::vector<std::vector<std::pair<int, Shared>>> leaving_;  // by block: what the block's own instructions leave
  std::vector<std::unordered_map<int, Shared>> arriving_;     // by block
  std::vector<std::vector<int>> changed_;                     // by block: pieces that more arrives of
  std::vector<int> waiting_;                                  // a heap of places in the order
};

}  // namespace strop::flow
