//===- PackageFormat.h - Where things lie in a package file -----*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_PACKAGEFORMAT_H
#define STRATA_RUNTIME_CORE_PACKAGEFORMAT_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace strata::rt {

constexpr char kPackageMagic[8] = {'S', 'T', 'R', 'A', 'T', 'A', 'P', 'K'};
constexpr uint64_t kBlobAlignment = 4096; ///< a page, so that a blob can be mapped by itself

/// The first 64 bytes of a package: see package.fbs. Little endian, as every machine that runs it.
struct PackageHeader {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t manifestSize;
  uint64_t manifestChecksum;
  uint64_t headerChecksum; ///< of the bytes before it
  uint64_t zeros[3];
};
static_assert(sizeof(PackageHeader) == 64);
static_assert(offsetof(PackageHeader, headerChecksum) == 32);

inline uint64_t alignBlob(uint64_t offset) {
  return (offset + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
}

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_PACKAGEFORMAT_H
