//===- Arena.cpp - Memory of the executor ---------------------------------===//
#include "strata/runtime/cpu/Arena.h"

#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace strata::rt {

Expected<Memory> Memory::allocate(uint64_t bytes, const char *purpose) {
  Memory memory;
  if (bytes == 0)
    return memory;
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return Status(StatusCode::OutOfMemory,
                  "can't get " + std::to_string(bytes) + " bytes for " + purpose);
  memory.data_ = static_cast<std::byte *>(data);
  memory.size_ = bytes;
  return memory;
}

Memory::Memory(Memory &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Memory &Memory::operator=(Memory &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Memory::~Memory() {
  if (data_)
    munmap(data_, size_);
}

void Memory::poison(uint64_t bytes) {
  assert(bytes <= size_ && "more than there is");
  if (bytes != 0)
    std::memset(data_, 0xff, bytes);
}

std::optional<uint64_t> alignUp(uint64_t bytes) {
  uint64_t padded;
  if (__builtin_add_overflow(bytes, 63, &padded))
    return std::nullopt;
  return padded & ~uint64_t(63);
}

Expected<Arena::Layout> Arena::layOut(const package::Manifest &manifest, int64_t tokens,
                                      int64_t wanted) {
  Layout layout;
  if (!manifest.slots())
    return layout;
  layout.offsets.reserve(manifest.slots()->size());
  for (const package::Slot *slot : *manifest.slots()) {
    layout.offsets.push_back(layout.size);
    std::optional<uint64_t> bytes = alignUp(uint64_t(evaluate(*slot->bytes(), tokens, wanted)));
    if (!bytes || __builtin_add_overflow(layout.size, *bytes, &layout.size))
      return Status(StatusCode::OutOfMemory, "the arena of a step of " + std::to_string(tokens) +
                                                 " tokens has more than 2^64 bytes");
  }
  return layout;
}

std::vector<std::byte *> Arena::slots(const Layout &layout, bool poison) {
  assert(layout.size <= bytes_ && "a step larger than planned");
  if (poison && layout.size != 0)
    std::memset(data_, 0xff, layout.size);
  std::vector<std::byte *> bases;
  bases.reserve(layout.offsets.size());
  for (uint64_t offset : layout.offsets)
    bases.push_back(data_ + offset);
  return bases;
}

} // namespace strata::rt
