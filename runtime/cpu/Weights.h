//===- Weights.h - A package's weights, ready for its commands --*- C++ -*-===//
#ifndef STRATA_RUNTIME_CPU_WEIGHTS_H
#define STRATA_RUNTIME_CPU_WEIGHTS_H

#include "strata/lib/Checkpoint/BoundWeight.h"
#include "strata/runtime/cpu/Arena.h"

#include <vector>

namespace strata::rt {

/// The weights of a manifest, found in a checkpoint. Matrices of products are used where the
/// checkpoint is mapped; what kernels get is there too, unless it must be widened or is not
/// aligned: then it is copied. With tiers all are copied but those that have a slot, where they are
/// only while they are needed; scales of blocks stay outside.
class Weights {
public:
  static Expected<Weights> bind(const package::Manifest &manifest, const Checkpoint &checkpoint);

  /// Bytes of the copies.
  uint64_t copiedBytes() const { return copiedBytes_; }
  /// Makes the copies in memory of their own.
  Status copy();
  /// Makes the copies in `copiedBytes` bytes at `copies`, and reads what has a slot from there.
  void place(std::byte *copies, const std::vector<std::byte *> &slots);

  const BoundWeight &bound(int32_t index) const { return bound_[size_t(index)]; }
  /// What kernels get for a weight that a Launch names: dense, widened or as stored. After `copy`
  /// or `place`.
  const std::byte *data(int32_t index) const { return data_[size_t(index)]; }
  /// A widened weight's f32 values; null for index −1. After `copy` or `place`.
  const float *values(int32_t index) const {
    return index < 0 ? nullptr : reinterpret_cast<const float *>(data(index));
  }

private:
  Weights() = default;

  std::vector<BoundWeight> bound_;
  std::vector<bool> widen_;
  std::vector<uint64_t> copyOffsets_; ///< kNotCopied: used in place, or by products alone
  std::vector<int32_t> slots_;        ///< of each weight; −1: none
  std::vector<const std::byte *> data_;
  uint64_t copiedBytes_ = 0;
  Memory copies_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CPU_WEIGHTS_H
