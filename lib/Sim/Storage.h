//===- Storage.h - Bytes of weights and records in a format -----*- C++ -*-===//
//
// The same formats as the compiler's reports (dialects/Strata/StoredBytes.h), for what a package
// says of its weights and caches.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_LIB_SIM_STORAGE_H
#define STRATA_LIB_SIM_STORAGE_H

#include "strata-rt/package_generated.h"

#include <cstdint>
#include <vector>

namespace strata::sim {

/// How weights or caches are stored, for questions about formats that a package does not have.
enum class Format {
  AsWritten, ///< as the package says
  BF16,
  FP8, ///< e4m3 with scales
};

/// Does a cache hold index keys? They have no values.
bool holdsIndexKeys(const package::Cache &cache);

/// Bytes of a record.
int64_t recordBytes(const package::Cache &cache, Format format);

/// Elements of a weight's value.
double elementCount(const package::Weight &weight);
/// Bytes of a weight's value: its elements and, where it is block-scaled, its scales.
double weightBytes(const package::Weight &weight, Format format);

/// What a sequence takes up by context, with hot sets instead of whole latents.
struct CacheSizes {
  double latentBytes = 0, keyBytes = 0; ///< of a token
  double hotBytes = 0;                  ///< of all hot sets
  double bytesPerToken() const { return latentBytes + keyBytes; }
  double whole(int64_t context) const { return bytesPerToken() * double(context); }
  double offloaded(int64_t context) const { return hotBytes + keyBytes * double(context); }
  double keyShare(int64_t context) const { return keyBytes * double(context) / offloaded(context); }
};
/// With hot sets of `slots` records for each cache that holds no index keys.
CacheSizes computeCacheSizes(const package::Manifest &manifest, Format format, int64_t slots);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_STORAGE_H
