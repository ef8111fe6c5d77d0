//===- Storage.cpp - Bytes of weights and records in a format -------------===//
#include "strata/lib/Sim/Storage.h"

#include "strata/lib/Support/ElementType.h"
#include "strata/runtime/core/Package.h"

namespace strata::sim {

static constexpr int64_t kBlock = 128;

static double ceilDivide(double value, double divisor) {
  return double((int64_t(value) + int64_t(divisor) - 1) / int64_t(divisor));
}

bool holdsIndexKeys(const package::Cache &cache) {
  for (const package::CacheField *field : *cache.fields())
    if (field->role() != package::FieldRole::Key)
      return false;
  return true;
}

int64_t recordBytes(const package::Cache &cache, Format format) {
  if (format == Format::AsWritten)
    return rt::recordBytes(cache);
  bool isLatent = false, areKeys = holdsIndexKeys(cache);
  for (const package::CacheField *field : *cache.fields())
    isLatent |= field->role() == package::FieldRole::KeyValue;
  int64_t bytes = 0;
  for (const package::CacheField *field : *cache.fields()) {
    int64_t elements = int64_t(field->heads()) * field->width();
    bool isRotatedPart = isLatent && field->role() == package::FieldRole::Key;
    bool isScaled = areKeys || (format == Format::FP8 && !isRotatedPart);
    int64_t scales = field->heads() * ((field->width() + kBlock - 1) / kBlock);
    bytes += isScaled ? elements + 4 * scales : 2 * elements;
  }
  return bytes;
}

double elementCount(const package::Weight &weight) {
  double count = 1;
  for (int64_t extent : *weight.shape())
    count *= double(extent);
  return count;
}

double weightBytes(const package::Weight &weight, Format format) {
  double elements = elementCount(weight);
  uint32_t rank = weight.shape()->size();
  double stored = elements * double(elementSize(static_cast<ElementType>(weight.stored())));
  if (rank < 2)
    return stored;
  double rows = double(weight.shape()->Get(rank - 2)),
         columns = double(weight.shape()->Get(rank - 1));
  double matrices = elements / (rows * columns);
  auto scaleBytes = [&](double blockRows, double blockColumns) {
    return 4 * matrices * ceilDivide(rows, blockRows) * ceilDivide(columns, blockColumns);
  };
  switch (format) {
  case Format::BF16:
    return 2 * elements;
  case Format::FP8:
    return elements + scaleBytes(kBlock, kBlock);
  case Format::AsWritten:
    break;
  }
  if (!weight.scale_name())
    return stored;
  return stored + scaleBytes(double(weight.block_rows()), double(weight.block_columns()));
}

CacheSizes computeCacheSizes(const package::Manifest &manifest, Format format, int64_t slots) {
  CacheSizes sizes;
  for (const package::Cache *cache : *manifest.caches()) {
    double bytes = double(recordBytes(*cache, format));
    if (holdsIndexKeys(*cache)) {
      sizes.keyBytes += bytes;
    } else {
      sizes.latentBytes += bytes;
      sizes.hotBytes += bytes * double(slots);
    }
  }
  return sizes;
}

} // namespace strata::sim
