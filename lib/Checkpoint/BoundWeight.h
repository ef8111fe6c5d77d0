//===- BoundWeight.h - A model's weight, found and checked in a checkpoint -*- C++ -*-===//
#ifndef STRATA_LIB_CHECKPOINT_BOUNDWEIGHT_H
#define STRATA_LIB_CHECKPOINT_BOUNDWEIGHT_H

#include "strata/lib/Checkpoint/Checkpoint.h"

namespace strata {

/// What a compiled model needs of a checkpoint: table `Weight` of package.fbs.
struct WeightDescription {
  /// One tensor, or a stack by pattern: see WeightPattern.h.
  std::string name;
  /// Of the value: [D], [M, K], [groups, length, K] with a part, [E, …] for a pattern of E names.
  std::vector<int64_t> shape;
  /// What the checkpoint must hold.
  ElementType stored = ElementType::F32;
  /// 0: the whole tensor. Otherwise the tensor is [partGroups × partStride, K] and the value is
  /// rows [partOffset, partOffset + shape[1]) of each group.
  int64_t partGroups = 0;
  int64_t partStride = 0;
  int64_t partOffset = 0;
  /// Scales of matrices by blocks of blockRows × blockColumns: a name, or a pattern with as many
  /// names; empty: none.
  std::string scaleName = {};
  int64_t blockRows = 0;
  int64_t blockColumns = 0;
};

/// A weight whose tensors were found in a checkpoint and have the right types and shapes. It is
/// seen as `members` matrices of `rows` × `columns`: the tensors of a stack, the groups of a part;
/// otherwise one. A tensor [D] is one row. Valid as long as the checkpoint lives.
class BoundWeight {
public:
  const WeightDescription &description() const { return description_; }
  int64_t members() const { return members_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool scaled() const { return !description_.scaleName.empty(); }
  size_t rowBytes() const { return size_t(columns_) * elementSize(description_.stored); }

  /// A row as stored, without its scales. Rows of one member follow each other without gaps. Not
  /// always aligned.
  const std::byte *row(int64_t member, int64_t row) const;

  /// Writes rows [firstRow, firstRow + rowCount) of a member to `output` (f32 [rowCount, columns]):
  /// widened, times their block's scale.
  void readRows(int64_t member, int64_t firstRow, int64_t rowCount, float *output) const;

  /// All rows of all members: f32 [members, rows, columns], which is the description's shape.
  void readAll(float *output) const;

  /// Bytes of all rows of all members as stored.
  size_t storedBytes() const { return size_t(members_ * rows_) * rowBytes(); }
  /// Copies all rows from the checkpoint as stored, member after member: `storedBytes` bytes. May
  /// run while others read from elsewhere.
  void copyStored(std::byte *target) const;
  /// Reads rows from such a copy from now on. Scales stay where they are.
  void readFrom(const std::byte *copy) { copy_ = copy; }

private:
  friend class WeightBinder;
  BoundWeight() = default;
  const std::byte *checkpointRow(int64_t member, int64_t row) const;

  WeightDescription description_;
  int64_t members_ = 1, rows_ = 1, columns_ = 1;
  std::vector<const std::byte *> data_;    ///< one for each tensor
  std::vector<std::vector<float>> scales_; ///< one for each tensor, [scale rows, scaleColumns_]
  int64_t scaleColumns_ = 0;
  const std::byte *copy_ = nullptr; ///< of what `data_` has, without gaps
};

/// Binds weights in the order of their descriptions. One error tells of everything that is wrong:
/// all tensors that are missing, and all whose type or shape differs (the first 20 of each kind by
/// name, and how many more).
Expected<std::vector<BoundWeight>> bindWeights(const std::vector<WeightDescription> &descriptions,
                                               const Checkpoint &checkpoint);

} // namespace strata

#endif // STRATA_LIB_CHECKPOINT_BOUNDWEIGHT_H
