//===- RowRanges.h - Rows of a step, split for threads ----------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_ROWRANGES_H
#define STRATA_RUNTIME_CPU_ROWRANGES_H

#include <algorithm>
#include <cstdint>

namespace strata::rt {

/// Rows in ranges of about the same size, whole blocks of `blockRows` each but for the last.
class RowRanges {
public:
  /// `wanted` ranges, or as many as there are blocks; at least one.
  RowRanges(int64_t rows, int64_t blockRows, int64_t wanted)
      : rows_(rows), blockRows_(blockRows), blocks_((rows + blockRows - 1) / blockRows),
        count_(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(blocks_, 1))) {}

  int64_t count() const { return count_; }
  int64_t begin(int64_t range) const { return blocks_ * range / count_ * blockRows_; }
  int64_t end(int64_t range) const { return std::min(rows_, begin(range + 1)); }

private:
  int64_t rows_, blockRows_, blocks_, count_;
};

/// How many ranges give each thread at least `perThread` items if each range has `items`: one,
/// unless that leaves threads idle, since weights may have to be converted for each range.
inline int64_t rangesWanted(int64_t items, int64_t perThread, int threads) {
  return (perThread * threads + items - 1) / items;
}

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_ROWRANGES_H
