//===- Cache.cpp - The records of one cache argument ----------------------===//
#include "strata/lib/Reference/Cache.h"

#include "strata/lib/Support/ElementType.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace strata::reference {

float roundTo(FloatType type, float value) {
  if (type.isF32())
    return value;
  if (type.isBF16())
    return widenBF16(roundToBF16(value));
  llvm::APFloat number(value);
  bool inexact;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToFloat();
}

void Cache::beginRecord(int64_t sequence, int64_t position) {
  Sequence &records = sequences_[sequence];
  assert(position <= records.length && "a record before it is missing");
  records.length = position + 1;
  for (auto [field, values] : llvm::zip_equal(type_.getFields(), records.fields))
    values.resize(records.length * field.getElements());
}

void Cache::writeField(int64_t sequence, unsigned field, const float *values) {
  CacheFieldAttr layout = type_.getFields()[field];
  auto type = cast<FloatType>(layout.getElementType());
  std::vector<float> &stored = sequences_[sequence].fields[field];
  float *record = stored.data() + stored.size() - layout.getElements();
  for (int64_t i = 0; i < layout.getElements(); ++i)
    record[i] = roundTo(type, values[i]);
}

uint64_t Cache::bytes() const {
  uint64_t bytes = 0;
  for (const Sequence &sequence : sequences_)
    for (const std::vector<float> &field : sequence.fields)
      bytes += 4 * uint64_t(field.capacity());
  return bytes;
}

} // namespace strata::reference
