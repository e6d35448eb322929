#include "flow/reaching.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace strop::flow {
namespace {

Shared one(int site) { return std::make_shared<const Sites>(1, site); }

Shared with(const Sites& sites, const Sites& more) {
  auto united = std::make_shared<Sites>();
  united->reserve(sites.size() + more.size());
  std::set_union(sites.begin(), sites.end(), more.begin(), more.end(), std::back_inserter(*united));
  return united;
}

bool holds(const Sites& sites, int site) { return std::binary_search(sites.begin(), sites.end(), site); }

// Blocks to look at again, each once; the last in is the first out.
class Queue {
 public:
  explicit Queue(const std::vector<int>& all) : stack_(all), queued_(all.size(), 1) {}
  bool empty() const { return stack_.empty(); }
  int take() {
    const int block = stack_.back();
    stack_.pop_back();
    queued_[block] = 0;
    return block;
  }
  void add(int block) {
    if (queued_[block]) return;
    queued_[block] = 1;
    stack_.push_back(block);
  }

 private:
  std::vector<int> stack_;
  std::vector<char> queued_;
};

}  // namespace

Reaching::Reaching(Program program)
    : program_(std::move(program)),
      exposed_(program_.starts.size(), program_.pieces),
      killed_(program_.starts.size(), program_.pieces),
      live_in_(program_.starts.size(), program_.pieces),
      live_out_(program_.starts.size(), program_.pieces),
      leaving_(program_.starts.size()),
      arriving_(program_.starts.size()),
      changed_(program_.starts.size()) {
  summarise();
  find_live();
  propagate();
  leaving_.clear();
  changed_.clear();
}

void Reaching::summarise() {
  std::vector<Shared> now(program_.pieces);
  std::vector<int> touched;
  for (size_t block = 0; block < program_.starts.size(); ++block) {
    uint64_t *exposed = exposed_.row(block), *killed = killed_.row(block);
    for (int index = program_.starts[block]; index < program_.ends[block]; ++index) {
      for (int piece : of(program_.read, index))
        if (!has(killed, piece)) set(exposed, piece);
      for (int piece : of(program_.written, index)) {
        Shared& sites = now[piece];
        if (!sites) touched.push_back(piece);
        if (program_.guarded[index]) {
          sites = sites ? with(*sites, Sites{index}) : one(index);
        } else {
          sites = one(index);
          set(killed, piece);
        }
      }
    }
    leaving_[block].reserve(touched.size());
    for (int piece : touched) leaving_[block].emplace_back(piece, std::move(now[piece]));
    for (int piece : touched) now[piece] = nullptr;
    touched.clear();
  }
}

void Reaching::find_live() {
  const size_t words = live_in_.words();
  Queue queue(program_.order);
  while (!queue.empty()) {
    const int block = queue.take();
    uint64_t *out = live_out_.row(block), *in = live_in_.row(block);
    std::fill(out, out + words, 0);
    for (int successor : of(program_.successors, block)) {
      const uint64_t* there = live_in_.row(successor);
      for (size_t word = 0; word < words; ++word) out[word] |= there[word];
    }
    const uint64_t *exposed = exposed_.row(block), *killed = killed_.row(block);
    bool changed = false;
    for (size_t word = 0; word < words; ++word) {
      const uint64_t into = exposed[word] | (out[word] & ~killed[word]);
      changed = changed || into != in[word];
      in[word] = into;
    }
    if (changed)
      for (int predecessor : of(program_.predecessors, block)) queue.add(predecessor);
  }
}

void Reaching::send(int block, int piece, const Shared& sites) {
  for (int successor : of(program_.successors, block)) {
    if (!has(live_in_.row(successor), piece)) continue;
    Shared& there = arriving_[successor][piece];
    if (there == sites) continue;
    if (there) {
      if (std::includes(there->begin(), there->end(), sites->begin(), sites->end())) continue;
      there = with(*there, *sites);
    } else {
      there = sites;
    }
    std::vector<int>& changed = changed_[successor];
    if (changed.empty()) {
      waiting_.push_back(program_.position[successor]);
      std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    }
    changed.push_back(piece);
  }
}

void Reaching::propagate() {
  for (int block : program_.order)
    for (const auto& [piece, sites] : leaving_[block])
      if (has(live_out_.row(block), piece)) send(block, piece, sites);
  while (!waiting_.empty()) {
    std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
    const int block = program_.order[waiting_.back()];
    waiting_.pop_back();
    std::vector<int> pieces = std::move(changed_[block]);
    changed_[block].clear();
    std::sort(pieces.begin(), pieces.end());
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    for (int piece : pieces)
      if (has(live_out_.row(block), piece) && !has(killed_.row(block), piece)) {
        const Shared sites = arriving_[block][piece];
        send(block, piece, sites);
      }
  }
}

const Sites* Reaching::arriving(int block, int piece) const {
  const auto found = arriving_[block].find(piece);
  return found == arriving_[block].end() ? nullptr : found->second.get();
}

std::vector<std::pair<int, int>> Reaching::needed_after(
    const std::vector<std::pair<int, std::vector<int>>>& asked) const {
  std::vector<std::pair<int, int>> needed;
  std::vector<uint64_t> live(live_out_.words());
  std::vector<std::vector<std::pair<int, int>>> wanted;  // of each asked: (producer, piece of it that is live after)
  std::unordered_map<int, Sites> now;
  size_t at = 0;
  for (size_t block = 0; block < program_.starts.size() && at < asked.size(); ++block) {
    const int start = program_.starts[block], end = program_.ends[block];
    size_t last = at;
    while (last < asked.size() && asked[last].first < end) ++last;
    if (last == at) continue;
    const uint64_t* out = live_out_.row(block);
    std::copy(out, out + live.size(), live.begin());
    wanted.assign(last - at, {});
    size_t from = last;
    for (int index = end - 1; index >= start && from > at; --index) {
      if (asked[from - 1].first == index) {
        --from;
        for (int producer : asked[from].second)
          if (producer >= 0)
            for (int piece : of(program_.written, producer))
              if (has(live.data(), piece)) wanted[from - at].emplace_back(producer, piece);
      }
      if (!program_.guarded[index])
        for (int piece : of(program_.written, index)) clear(live.data(), piece);
      for (int piece : of(program_.read, index)) set(live.data(), piece);
    }
    now.clear();
    for (int index = start; at < last; ++index) {
      if (asked[at].first == index) {
        for (const auto& [producer, piece] : wanted[wanted.size() - (last - at)]) {
          const auto found = now.find(piece);
          const Sites* sites = found != now.end() ? &found->second : arriving(block, piece);
          if (sites && holds(*sites, producer)) needed.emplace_back(index, producer);
        }
        ++at;
      }
      for (int piece : of(program_.written, index)) {
        if (!program_.guarded[index]) {
          now[piece].assign(1, index);
          continue;
        }
        auto found = now.find(piece);
        if (found == now.end()) {
          const Sites* sites = arriving(block, piece);
          found = now.emplace(piece, sites ? *sites : Sites{}).first;
        }
        Sites& sites = found->second;
        const auto place = std::lower_bound(sites.begin(), sites.end(), index);
        if (place == sites.end() || *place != index) sites.insert(place, index);
      }
    }
  }
  return needed;
}

BitRows Reaching::written_later() const {
  const size_t blocks = program_.starts.size();
  BitRows own(blocks, program_.pieces), later(blocks, program_.pieces);
  for (size_t block = 0; block < blocks; ++block)
    for (int index = program_.starts[block]; index < program_.ends[block]; ++index)
      for (int piece : of(program_.written, index)) set(own.row(block), piece);
  const size_t words = own.words();
  Queue queue(program_.order);
  while (!queue.empty()) {
    const int block = queue.take();
    uint64_t* out = later.row(block);
    bool changed = false;
    for (int successor : of(program_.successors, block)) {
      const uint64_t *there = own.row(successor), *beyond = later.row(successor);
      for (size_t word = 0; word < words; ++word) {
        const uint64_t united = out[word] | there[word] | beyond[word];
        changed = changed || united != out[word];
        out[word] = united;
      }
    }
    if (changed)
      for (int predecessor : of(program_.predecessors, block)) queue.add(predecessor);
  }
  return later;
}

}  // namespace strop::flow
