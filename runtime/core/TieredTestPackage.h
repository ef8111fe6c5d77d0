//===- TieredTestPackage.h - A small package with two tiers -----*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_TIEREDTESTPACKAGE_H
#define STRATA_RUNTIME_CORE_TIEREDTESTPACKAGE_H

#include <cstdint>
#include <vector>

namespace strata::rt {

/// A sound manifest with two tiers: a cache of each residence, two hot sets, a weight in a slot,
/// and each command that starts or awaits a transfer; not a model that could run. All its scalars
/// are stored, defaults too, so that a test can change any of them in place.
std::vector<uint8_t> makeTieredTestManifest();

/// The indices of its caches.
enum TieredTestCache : uint32_t {
  kTieredNear,
  kTieredLeader,
  kTieredFollower,
  kTieredKeys,
  kTieredIndex
};

/// The indices of its commands.
enum TieredTestCommand : uint32_t {
  kTieredAppendLeader,
  kTieredAppendFollower,
  kTieredAppendIndex,
  kTieredWriteIndex,
  kTieredWaitIndex,
  kTieredSelect,
  kTieredRecords,
  kTieredResolve,
  kTieredGather,
  kTieredSpeculate,
  kTieredGatherAhead,
  kTieredWriteLeader,
  kTieredWriteFollower,
  kTieredPartialScores,
  kTieredWaitGather,
  kTieredHeadAttention,
  kTieredWaitAhead,
  kTieredReloadKeys,
  kTieredWaitKeys,
  kTieredReadKeys,
  kTieredWriteKeys,
  kTieredReloadWeight,
  kTieredWaitWeight,
  kTieredProduct,
  kTieredWaitWriteLeader,
  kTieredWaitWriteFollower,
  kTieredWaitWriteKeys,
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_TIEREDTESTPACKAGE_H
