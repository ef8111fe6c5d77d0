//===- MemoryPlan.h - What is to be allocated, and whether it fits -*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_MEMORYPLAN_H
#define STRATA_RUNTIME_CPU_MEMORYPLAN_H

#include "strata/lib/Support/Status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace strata::rt {

/// Adds up what is to be allocated. Sums that overflow are the greatest number.
class MemoryPlan {
public:
  /// Nothing stands for a number that overflowed.
  void add(const char *what, std::optional<uint64_t> bytes) {
    if (!bytes || __builtin_add_overflow(total_, *bytes, &total_))
      total_ = ~uint64_t(0);
    text_ += (text_.empty() ? "" : ", ") + std::string(what) + " " +
             std::to_string(bytes.value_or(~uint64_t(0)));
  }
  uint64_t total() const { return total_; }
  /// "arena 4096, caches 8192".
  const std::string &text() const { return text_; }

  /// An error if it is more than `limit` bytes, or than the machine's memory when that is 0.
  Status check(uint64_t limit) const;

private:
  uint64_t total_ = 0;
  std::string text_;
};

/// a × b, nothing on overflow.
inline std::optional<uint64_t> checkedProduct(uint64_t a, uint64_t b) {
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// The sum; nothing if a part is nothing, or on overflow.
inline std::optional<uint64_t> checkedSum(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  uint64_t result;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result))
    return std::nullopt;
  return result;
}

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_MEMORYPLAN_H
