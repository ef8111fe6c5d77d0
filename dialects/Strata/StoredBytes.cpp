//===- StoredBytes.cpp - Bytes of weights and records in a format ---------===//
#include "strata/dialects/Strata/StoredBytes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace strata;

static constexpr int64_t kBlock = 128;

/// A field as e4m3: one byte an element, and the scales.
static int64_t getScaledBytes(CacheFieldAttr field) {
  int64_t scales = field.getHeads() * int64_t(llvm::divideCeil(field.getWidth(), kBlock));
  return field.getElements() + 4 * scales;
}

double strata::getRecordBytes(CacheType cache, StorageFormat format) {
  if (format == StorageFormat::AsWritten)
    return double(cache.getRecordBytes());
  bool isLatent = llvm::any_of(cache.getFields(), [](CacheFieldAttr field) {
    return field.getRole() == FieldRole::KeyValue;
  });
  int64_t bytes = 0;
  for (CacheFieldAttr field : cache.getFields()) {
    bool isRotatedPart = isLatent && field.getRole() == FieldRole::Key;
    bool isScaled = holdsIndexKeys(cache) || (format == StorageFormat::FP8 && !isRotatedPart);
    bytes += isScaled ? getScaledBytes(field) : 2 * field.getElements();
  }
  return double(bytes);
}

double strata::getWeightBytes(WeightOp weight, StorageFormat format) {
  RankedTensorType type = weight.getValue().getType();
  if (format == StorageFormat::AsWritten || type.getRank() < 2)
    return weight.getStoredBytes();
  double elements = double(type.getNumElements());
  if (format == StorageFormat::BF16)
    return 2 * elements;
  int64_t rows = type.getDimSize(type.getRank() - 2), columns = type.getShape().back();
  int64_t matrices = type.getNumElements() / (rows * columns);
  return elements + 4.0 * double(matrices) * double(llvm::divideCeil(rows, kBlock)) *
                        double(llvm::divideCeil(columns, kBlock));
}
