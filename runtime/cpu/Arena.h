//===- Arena.h - Memory of the executor -------------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_ARENA_H
#define STRATA_RUNTIME_CPU_ARENA_H

#include "strata/lib/Support/Status.h"
#include "strata/runtime/core/Package.h"

#include <cstddef>
#include <vector>

namespace strata::rt {

/// Zeroed memory from the system, aligned to a page. The system provides pages when they are first
/// touched.
class Memory {
public:
  /// `purpose` names the memory in the message of an error.
  static Expected<Memory> allocate(uint64_t bytes, const char *purpose);
  Memory() = default;
  Memory(Memory &&other) noexcept;
  Memory &operator=(Memory &&other) noexcept;
  ~Memory();

  std::byte *data() const { return data_; }
  uint64_t size() const { return size_; }

  /// Fills the first `bytes` bytes with ones: NaN in every float format, −1 as an integer.
  void poison(uint64_t bytes);

private:
  std::byte *data_ = nullptr;
  uint64_t size_ = 0;
};

/// Rounds up to the alignment of slots, 64 bytes; nothing on overflow.
std::optional<uint64_t> alignUp(uint64_t bytes);

/// The activation arena: one piece of memory in which the slots of a step follow each other.
class Arena {
public:
  /// Where the slots of a step begin, and the bytes of all.
  struct Layout {
    std::vector<uint64_t> offsets;
    uint64_t size = 0;
  };

  /// Slots begin at multiples of 64 bytes. An error if the sum overflows.
  static Expected<Layout> layOut(const package::Manifest &manifest, int64_t tokens, int64_t wanted);

  /// Works in `bytes` bytes at `data`, aligned to 64.
  Arena(std::byte *data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  Arena() = default;

  /// Base addresses of the slots for a step, in memory made for at least as many tokens. With
  /// `poison` what the step uses is filled with NaN bytes first.
  std::vector<std::byte *> slots(const Layout &layout, bool poison);

private:
  std::byte *data_ = nullptr;
  [[maybe_unused]] uint64_t bytes_ = 0; ///< for assertions
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_ARENA_H
