//===- Weights.cpp - The weight op ----------------------------------------===//
#include "strata/dialects/Strata/IR.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace strata;

/// The number of tensors that a name stands for: 1 without a pattern, none when a pattern is
/// malformed.
static std::optional<int64_t> countNames(StringRef name) {
  size_t open = name.find('{');
  if (open == StringRef::npos)
    return name.contains('}') ? std::nullopt : std::optional<int64_t>(1);
  auto [range, rest] = name.drop_front(open + 1).split('}');
  auto [first, last] = range.split("..");
  int64_t from, to;
  if (rest.contains('{') || rest.contains('}') || first.getAsInteger(10, from) ||
      last.getAsInteger(10, to) || from < 0 || to < from)
    return std::nullopt;
  return to - from + 1;
}

LogicalResult WeightOp::verify() {
  bool isF8 = isa<Float8E4M3FNType>(getStored());
  if (!isF8 && !getStored().isF32() && !getStored().isBF16() && !getStored().isF16())
    return emitOpError() << "(weight_c1) expected f32, bf16, f16 or f8E4M3FN but got "
                         << getStored();
  if (isF8 != getScales().has_value())
    return emitOpError() << "(weight_c1) expected scales exactly with f8E4M3FN but got "
                         << getStored() << (getScales() ? " with scales" : " without scales");
  if (getScales() && (getScales()->getRows() < 1 || getScales()->getColumns() < 1))
    return emitOpError() << "(weight_c1) expected blocks of at least 1 x 1 but got "
                         << getScales()->getRows() << " x " << getScales()->getColumns();
  RankedTensorType type = getValue().getType();
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return emitOpError() << "(weight_c5) expected a static shape without 0 but got " << type;

  std::optional<int64_t> count = countNames(getName());
  if (!count)
    return emitOpError()
           << "(weight_c2) expected at most one pattern {first..last} in the name but got \""
           << getName() << "\"";
  bool isStack = getName().contains('{');
  if (isStack && (type.getRank() < 2 || type.getDimSize(0) != *count))
    return emitOpError() << "(weight_c2) expected " << *count
                         << " tensors in the first dimension but got " << type;
  if (getPart()) {
    if (isStack)
      return emitOpError() << "(weight_c4) expected either a part or a pattern but got both";
    if (type.getRank() != 3 || type.getDimSize(0) != getPart()->getGroups() ||
        getPart()->getOffset() < 0 ||
        getPart()->getOffset() + type.getDimSize(1) > getPart()->getStride())
      return emitOpError() << "(weight_c3) expected [" << getPart()->getGroups()
                           << ", rows, columns] with offset " << getPart()->getOffset()
                           << " + rows within " << getPart()->getStride() << " but got " << type;
  }
  return success();
}

double WeightOp::getStoredBytes() {
  RankedTensorType type = getValue().getType();
  double bytes = double(type.getNumElements()) * getStoredBits() / 8;
  if (!getScales() || type.getRank() < 2)
    return bytes;
  // One f32 for each block of the last two dimensions; a part's rows are counted as if they were
  // stored together.
  int64_t rows = type.getDimSize(type.getRank() - 2), columns = type.getShape().back();
  int64_t matrices = type.getNumElements() / (rows * columns);
  return bytes + 4.0 * double(matrices) * double(llvm::divideCeil(rows, getScales()->getRows())) *
                     double(llvm::divideCeil(columns, getScales()->getColumns()));
}
