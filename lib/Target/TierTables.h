//===- TierTables.h - Tiers, engines and tables of a manifest ---*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_TIERTABLES_H
#define STRATA_LIB_TARGET_TIERTABLES_H

#include "strata-rt/package_generated.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace strata {

/// What a placed module says of its memory, as tables of the manifest: none of them of a module
/// that was not placed.
struct TierTables {
  bool isPlaced = false;
  std::vector<flatbuffers::Offset<package::Tier>> tiers; ///< near first
  std::vector<flatbuffers::Offset<package::Engine>> engines;
  std::vector<flatbuffers::Offset<package::SlotTable>> slotTables;
  std::vector<flatbuffers::Offset<package::HotSet>> hotSets;
  std::vector<flatbuffers::Offset<package::StagingPool>> stagingPools;
  std::vector<flatbuffers::Offset<package::BlockBuffers>> blockBuffers;
  std::vector<uint64_t> weightSlots;
  flatbuffers::Offset<package::PlacementPlan> placement;
};

/// Reads tier.* and strata.tiers of a module and writes the tables into the buffer; an error where
/// they don't have the form that the phases place and lower give them.
mlir::FailureOr<TierTables> writeTierTables(mlir::ModuleOp lowered,
                                            flatbuffers::FlatBufferBuilder &buffer);

} // namespace strata

#endif // STRATA_LIB_TARGET_TIERTABLES_H
