//===- TierMemory.h - The memory of a tier ----------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_TIERMEMORY_H
#define STRATA_RUNTIME_CPU_TIERMEMORY_H

#include "strata/runtime/cpu/Arena.h"

namespace strata::rt {

/// One piece of memory of a fixed size that is handed out from its begin. It can't grow.
class TierMemory {
public:
  /// `purpose` names the memory in the message of an error.
  static Expected<TierMemory> allocate(uint64_t capacity, const char *purpose) {
    Expected<Memory> memory = Memory::allocate(capacity, purpose);
    if (!memory.ok())
      return memory.status();
    TierMemory result;
    result.memory_ = std::move(*memory);
    return result;
  }

  /// The next `bytes` bytes, aligned to 64; null if there are fewer left.
  std::byte *take(uint64_t bytes) {
    std::optional<uint64_t> padded = alignUp(bytes);
    if (!padded || *padded > memory_.size() - used_)
      return nullptr;
    std::byte *data = memory_.data() + used_;
    used_ += *padded;
    return data;
  }

  uint64_t used() const { return used_; }
  uint64_t capacity() const { return memory_.size(); }
  /// Fills what was handed out with NaN bytes.
  void poison() { memory_.poison(used_); }

private:
  Memory memory_;
  uint64_t used_ = 0;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_TIERMEMORY_H
