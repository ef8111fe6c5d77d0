//===- CacheDescription.h - What the pages of a model's caches hold -*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_CACHEDESCRIPTION_H
#define STRATA_RUNTIME_CORE_CACHEDESCRIPTION_H

#include "strata/lib/Support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata {
class Checkpoint;
} // namespace strata
namespace strata::package {
struct Manifest;
} // namespace strata::package

namespace strata::rt {

/// What an executor's pages hold. Pages mean the same to two executors whose identities are equal:
/// then they may be of different packages, with other kernels, number formats of products, tiers or
/// numbers of pages.
struct CacheDescription {
  struct Cache {
    std::string name;
    int64_t pageBytes = 0;
  };
  /// Of all caches, in the order of the model: those of keys and values and those of index keys.
  std::vector<Cache> caches;
  /// A JSON object: the model (type, vocabulary, checksums of its rotation tables and of samples of
  /// its weights) and the layout of each cache (name, fields, page size, planar, RoPE, Hadamard).
  std::string identity;
};

/// Describes the caches of a package that runs with the weights of `checkpoint`. Of each weight the
/// first 4 KiB are looked at: enough to tell two models of one shape apart, and quick.
CacheDescription describeCaches(const package::Manifest &manifest, const Checkpoint &checkpoint);

/// An error that names the first field in which `found` differs, with both values. Both are
/// identities; `found` may be any text.
Status compareIdentities(const std::string &expected, std::string_view found);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_CACHEDESCRIPTION_H
