// The memory of one operand; see tensor_buffer.hpp.
#include "tensor_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "odometer.hpp"
#include "random_fill.hpp"

namespace strop {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kFence = 512;
// malloc maps arrays of this size alone, so all of a user's large arrays begin at the same place of a page.
constexpr size_t kMappedAlone = size_t{128} << 10;
constexpr size_t kHugePages = size_t{4} << 20;  // NumPy asks for huge pages from here on
constexpr size_t kComparedWhole = size_t{4} << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t offset_in_line(int alignment, int item) {
  if (alignment == 64) return 0;
  if (alignment == 32 || alignment == 16) return static_cast<size_t>(alignment);
  return static_cast<size_t>(item);
}

}  // namespace

TensorBuffer::TensorBuffer(const Tensor& tensor, const std::vector<int64_t>& sizes, Scalar type, int alignment,
                           Guard guard, int place)
    : item_(scalar_bytes(type)) {
  end_ = item_;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const int64_t stride = tensor.stride[axis];
    if (stride == 0 || sizes[axis] == 1) continue;
    extents_.push_back(sizes[axis]);
    strides_.push_back(stride);
    elements_ *= sizes[axis];
    (stride < 0 ? lowest_ : end_) += stride * (sizes[axis] - 1);
  }
  const size_t fence = guard == Guard::none ? kFence : 0;
  bytes_ = span() + 2 * fence;
  mapping_bytes_ = round_up(bytes_ + 2 * kPage, kPage) + 2 * kPage;
  void* mapped = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapped);

  char* const first_page = mapping_ + kPage;
  if (guard == Guard::after) {
    char* const fault = first_page + round_up(span(), kPage);
    mprotect(fault, kPage, PROT_NONE);
    zero_ = fault - end_;
  } else if (guard == Guard::before) {
    mprotect(mapping_, kPage, PROT_NONE);
    zero_ = first_page - lowest_;
  } else {
    if (span() >= kHugePages) madvise(mapping_, mapping_bytes_, MADV_HUGEPAGE);
    // Small arrays share pages and lie anywhere in them; apart, so that no two rows alias by our choice.
    const size_t apart = span() < kMappedAlone ? 1344 * static_cast<size_t>(place) % kPage / 64 * 64 : 0;
    const uintptr_t wanted = reinterpret_cast<uintptr_t>(first_page) + fence - static_cast<uintptr_t>(lowest_);
    const uintptr_t unit = span() < kMappedAlone ? 64 : kPage;
    zero_ = reinterpret_cast<char*>((wanted + unit - 1) / unit * unit + apart + offset_in_line(alignment, item_));
  }
  begin_ = zero_ + lowest_ - fence;
  const uint64_t own = 0x50 + static_cast<uint64_t>(place) % 0x50;
  poison_ = item_ == 4 ? (0xFFE5A500U + own) * 0x100000001ULL : 0xFFFDA5A5A5A5A500ULL + own;
  for (size_t i = 0; i < bytes_; i += sizeof poison_)
    std::memcpy(begin_ + i, &poison_, std::min(sizeof poison_, bytes_ - i));
}

TensorBuffer::~TensorBuffer() { munmap(mapping_, mapping_bytes_); }

template <typename Body>
void TensorBuffer::each_element(const Body& body) const {
  Odometer<1> walk;
  for (size_t axis = 0; axis < extents_.size(); ++axis) walk.add(extents_[axis], {strides_[axis]});
  do body(zero_ + walk.offsets()[0]);
  while (walk.next());
}

template <typename T>
void TensorBuffer::fill_elements(uint32_t seed) {
  // Also windows, whose elements several indices share: a walk would write them again and again.
  if (elements_ * item_ >= static_cast<int64_t>(span()))
    return fill_uniform(reinterpret_cast<T*>(lowest()), static_cast<int64_t>(span()) / item_, seed);
  std::vector<T> numbers(elements_);
  fill_uniform(numbers.data(), elements_, seed);
  const T* next = numbers.data();
  each_element([&](char* address) { std::memcpy(address, next++, sizeof(T)); });
}

void TensorBuffer::fill_random(uint32_t seed) { item_ == 4 ? fill_elements<float>(seed) : fill_elements<double>(seed); }

int64_t TensorBuffer::count_poison() const {
  int64_t count = 0;
  const auto test = [&](const char* address) { count += is_poison(address); };
  if (dense())
    for (const char* address = lowest(); address < zero_ + end_; address += item_) test(address);
  else
    each_element(test);
  return count;
}

void TensorBuffer::remember() { remembered_.assign(begin_, begin_ + bytes_); }

void TensorBuffer::restore() { std::memcpy(begin_, remembered_.data(), bytes_); }

bool TensorBuffer::fences_unchanged() const {
  const size_t before = static_cast<size_t>(lowest() - begin_), after = before + span();
  return std::memcmp(begin_, remembered_.data(), before) == 0 &&
         std::memcmp(begin_ + after, remembered_.data() + after, bytes_ - after) == 0;
}

bool TensorBuffer::unchanged() {
  if (bytes_ <= kComparedWhole) return std::memcmp(begin_, remembered_.data(), bytes_) == 0;
  phase_ = (phase_ + 1) % 16;
  for (size_t at = phase_ * kPage; at < bytes_; at += 16 * kPage)
    if (std::memcmp(begin_ + at, remembered_.data() + at, std::min(kPage, bytes_ - at)) != 0) return false;
  return fences_unchanged();
}

bool TensorBuffer::gaps_unchanged() {
  if (dense()) return true;
  each_element([&](char* address) { std::memcpy(address, remembered_.data() + (address - begin_), item_); });
  return std::memcmp(begin_, remembered_.data(), bytes_) == 0;
}

}  // namespace strop
