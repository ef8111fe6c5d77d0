//===- Offsets.h - Where buffers lie that live at other times ---*- C++ -*-===//
#ifndef STRATA_LIB_PLAN_OFFSETS_H
#define STRATA_LIB_PLAN_OFFSETS_H

#include <cstdint>
#include <vector>

namespace strata::plan {

/// Bytes that are needed from one moment to another, both included.
struct LiveBytes {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;
};

/// Offsets in the order of the buffers.
struct Offsets {
  std::vector<uint64_t> offsets;
  uint64_t end = 0;     ///< of the last byte
  uint64_t maxLive = 0; ///< bytes at the fullest moment: no assignment ends below
};

/// Gives buffers offsets at multiples of `alignment` such that those that live at the same moment
/// don't overlap. Each goes into the tightest gap that holds it; buffers are taken by size, by size
/// times lifetime, by lifetime and by their first moment, and the order that ends lowest counts.
/// Takes O(n²).
Offsets assignOffsets(const std::vector<LiveBytes> &buffers, uint64_t alignment);

} // namespace strata::plan

#endif // STRATA_LIB_PLAN_OFFSETS_H
