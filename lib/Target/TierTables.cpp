//===- TierTables.cpp - Tiers, engines and tables of a manifest -----------===//
#include "strata/lib/Target/TierTables.h"

#include "strata/dialects/Strata/ModelAttributes.h"

using namespace mlir;
using namespace strata;
using flatbuffers::Offset;

static int64_t getInteger(ModuleOp module, StringRef name, int64_t fallback) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : fallback;
}

/// The pairs that strata.tiers lists under a name; nothing where it lists something else.
static std::optional<SmallVector<std::pair<int64_t, int64_t>>> getPairs(DictionaryAttr tables,
                                                                        StringRef name) {
  auto numbers = tables.getAs<DenseI64ArrayAttr>(name);
  if (!numbers || numbers.size() % 2 != 0)
    return std::nullopt;
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < numbers.size(); i += 2)
    pairs.push_back({numbers[i], numbers[i + 1]});
  return pairs;
}

/// The tiers in order, near first, with their capacities.
static std::optional<std::vector<Offset<package::Tier>>>
writeTiers(ModuleOp module, flatbuffers::FlatBufferBuilder &buffer) {
  auto names = module->getAttrOfType<ArrayAttr>("tier.tiers");
  auto capacities = module->getAttrOfType<DictionaryAttr>("tier.capacity");
  if (!names || !capacities)
    return std::nullopt;
  std::vector<Offset<package::Tier>> tiers;
  for (Attribute each : names) {
    auto name = dyn_cast<StringAttr>(each);
    auto capacity = name ? capacities.getAs<IntegerAttr>(name.getValue()) : IntegerAttr();
    if (!capacity || capacity.getInt() < 0)
      return std::nullopt;
    tiers.push_back(
        package::CreateTierDirect(buffer, name.str().c_str(), uint64_t(capacity.getInt())));
  }
  return tiers;
}

static std::optional<std::vector<Offset<package::Engine>>>
writeEngines(ModuleOp module, flatbuffers::FlatBufferBuilder &buffer) {
  std::vector<Offset<package::Engine>> engines;
  auto described = module->getAttrOfType<ArrayAttr>("tier.engines");
  if (!described)
    return engines; // nothing moves
  for (Attribute each : described) {
    auto engine = dyn_cast<DictionaryAttr>(each);
    auto name = engine ? engine.getAs<StringAttr>("name") : StringAttr();
    auto bandwidth = engine ? engine.getAs<FloatAttr>("bandwidth") : FloatAttr(),
         seconds = engine ? engine.getAs<FloatAttr>("operation_seconds") : FloatAttr();
    if (!name || !bandwidth || !seconds)
      return std::nullopt;
    engines.push_back(package::CreateEngineDirect(
        buffer, name.str().c_str(), bandwidth.getValueAsDouble(), seconds.getValueAsDouble()));
  }
  return engines;
}

FailureOr<TierTables> strata::writeTierTables(ModuleOp lowered,
                                              flatbuffers::FlatBufferBuilder &buffer) {
  TierTables tables;
  auto described = lowered->getAttrOfType<DictionaryAttr>(kTiersAttr);
  if (!described)
    return tables;
  auto tiers = writeTiers(lowered, buffer);
  auto engines = writeEngines(lowered, buffer);
  auto slotTables = getPairs(described, "slot_tables"), hotSets = getPairs(described, "hot_sets"),
       pools = getPairs(described, "staging_pools"), blocks = getPairs(described, "block_buffers");
  auto weightSlots = described.getAs<DenseI64ArrayAttr>("weight_slots");
  if (!tiers || !engines || !slotTables || !hotSets || !pools || !blocks || !weightSlots)
    return lowered.emitError() << "expected tier.tiers, tier.capacity, tier.engines and "
                               << kTiersAttr << " as the phases place and lower write them";
  tables.isPlaced = true;
  tables.tiers = std::move(*tiers);
  tables.engines = std::move(*engines);
  for (auto [slots, k] : *slotTables)
    tables.slotTables.push_back(package::CreateSlotTable(buffer, int32_t(slots), int32_t(k)));
  for (auto [cache, table] : *hotSets)
    tables.hotSets.push_back(package::CreateHotSet(buffer, int32_t(cache), int32_t(table)));
  for (auto [recordBytes, pageSize] : *pools)
    tables.stagingPools.push_back(
        package::CreateStagingPool(buffer, recordBytes, int32_t(pageSize)));
  for (auto [records, recordBytes] : *blocks)
    tables.blockBuffers.push_back(
        package::CreateBlockBuffers(buffer, int32_t(records), recordBytes));
  tables.weightSlots.assign(weightSlots.asArrayRef().begin(), weightSlots.asArrayRef().end());
  auto machine = lowered->getAttrOfType<StringAttr>("tier.machine");
  tables.placement = package::CreatePlacementPlanDirect(
      buffer, machine ? machine.str().c_str() : "", getInteger(lowered, "tier.context", 0),
      getInteger(lowered, "tier.batch", 1), getInteger(lowered, "tier.tokens", 1));
  return tables;
}
