//===- Cache.h - The records of one cache argument --------------*- C++ -*-===//
#ifndef STRATA_LIB_REFERENCE_CACHE_H
#define STRATA_LIB_REFERENCE_CACHE_H

#include "strata/dialects/Strata/IR.h"

#include <vector>

namespace strata::reference {

/// Records by sequence and position. Values are f32 after rounding to their field's type. Pages do
/// not exist here: what a cache means does not depend on them.
class Cache {
public:
  Cache(CacheType type, int64_t sequences) : type_(type), sequences_(sequences) {
    for (Sequence &sequence : sequences_)
      sequence.fields.resize(type.getFields().size());
  }

  CacheType type() const { return type_; }
  /// Positions 0 … length − 1 of a sequence have records.
  int64_t length(int64_t sequence) const { return sequences_[sequence].length; }

  /// Makes room for the record at `position`, which is at most the length. Later records of the
  /// sequence are dropped: they are of a sequence that had the slot before.
  void beginRecord(int64_t sequence, int64_t position);
  /// Writes a field of the last record: heads × width values, rounded.
  void writeField(int64_t sequence, unsigned field, const float *values);

  /// A field of a record: f32 [heads, width].
  const float *field(int64_t sequence, unsigned field, int64_t position) const {
    return sequences_[sequence].fields[field].data() +
           position * type_.getFields()[field].getElements();
  }

  uint64_t bytes() const;

  /// How many appends there were: tells a value from those before it.
  int64_t version = 0;

private:
  struct Sequence {
    int64_t length = 0;
    std::vector<std::vector<float>> fields; ///< [length, heads, width] each
  };
  CacheType type_;
  std::vector<Sequence> sequences_;
};

/// Rounds to the nearest value of a floating-point type, ties to even; what is too large becomes
/// what the type has for it (infinity or NaN).
float roundTo(mlir::FloatType type, float value);

} // namespace strata::reference

#endif // STRATA_LIB_REFERENCE_CACHE_H
