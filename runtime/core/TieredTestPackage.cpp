//===- TieredTestPackage.cpp - A small package with two tiers -------------===//
#include "strata/runtime/core/TieredTestPackage.h"

#include "strata-rt/package_generated.h"

namespace strata::rt {

using namespace package;
using flatbuffers::Offset;

// 2 heads, k = 3 of at most 5 slots, records of 32 bytes, pages of 4.
constexpr int64_t kHeads = 2, kRows = 3, kWidth = 8, kPage = 4, kVocabulary = 8;
constexpr int64_t kRecordBytes = 4 * kWidth;

namespace {

class Builder {
public:
  std::vector<uint8_t> run() {
    builder_.ForceDefaults(true);
    FinishManifestBuffer(builder_, makeManifest());
    return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
  }

private:
  enum SlotIndex { kHidden, kLogits, kRowsSlot, kRecordsSlot, kSlotsSlot, kHitsSlot, kMissesSlot };
  enum TransferIndex {
    kIndexHome,
    kRowsIn,
    kRowsAhead,
    kLeaderHome,
    kFollowerHome,
    kKeysIn,
    kKeysHome,
    kWeightIn
  };
  enum EngineIndex { kIn, kOut };

  static Argument slot(int32_t index) { return Argument(ArgumentKind::Slot, index, 0); }
  static Argument step(StepArray array) { return Argument(ArgumentKind::Step, int32_t(array), 0); }

  template <typename Table> void add(Command kind, Offset<Table> command, const char *label) {
    commands_.push_back(CreateCommandEntryDirect(builder_, kind, command.Union(), label));
  }
  Offset<Launch> launch(const std::vector<Argument> &arguments, int64_t items) {
    const Size size(items, 0, 0);
    return CreateLaunchDirect(builder_, 0, &arguments, &size, 1);
  }
  void append(int32_t cache, const char *label) {
    add(Command::Launch,
        launch({step(StepArray::TokenNumbers), step(StepArray::Zeros), step(StepArray::PageNumbers),
                slot(kHidden), Argument(ArgumentKind::Stage, cache, 0)},
               1),
        label);
  }
  void writeBack(int32_t cache, int32_t transfer, const char *label) {
    add(Command::WriteBack, CreateWriteBack(builder_, cache, kOut, transfer), label);
  }
  void wait(int32_t transfer) { add(Command::Wait, CreateWait(builder_, transfer), "wait"); }
  void addRows();
  void addAttention();
  void addRest();
  Offset<Cache> cache(const char *name, Residence residence, int32_t staging);
  Offset<Manifest> makeManifest();

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<Offset<CommandEntry>> commands_;
};

/// Up to the records of the group, which are then on their way.
void Builder::addRows() {
  append(1, "append leader");
  append(2, "append follower");
  append(4, "append index");
  writeBack(4, kIndexHome, "write index");
  wait(kIndexHome);
  const View hidden(slot(kHidden), kWidth, 0), headWeights(slot(kHidden), kHeads, 0);
  const Argument rows = slot(kRowsSlot), records = slot(kRecordsSlot);
  add(Command::Select,
      CreateSelect(builder_, 1, &hidden, &headWeights, 4, &rows, kRows, 0, false, kIn), "select");
  add(Command::Records, CreateRecords(builder_, &rows, &records, kRows, kPage), "records");
  const Argument slots = slot(kSlotsSlot), hits = slot(kHitsSlot), misses = slot(kMissesSlot);
  add(Command::Resolve, CreateResolve(builder_, &records, 0, &slots, &hits, &misses, 0), "resolve");
  add(Command::Gather, CreateGather(builder_, 0, kIn, kRowsIn), "gather");
  add(Command::Resolve, CreateResolve(builder_, &records, 1, nullptr, nullptr, nullptr, 2),
      "speculate");
  add(Command::Gather, CreateGather(builder_, 1, kIn, kRowsAhead), "gather ahead");
  writeBack(1, kLeaderHome, "write leader");
  writeBack(2, kFollowerHome, "write follower");
}

void Builder::addAttention() {
  auto scores = [&](SlotIndex rows) {
    return launch({slot(kHidden), Argument(ArgumentKind::HotSet, 0, 0), slot(rows),
                   step(StepArray::Unbounded), step(StepArray::Zeros), step(StepArray::PageNumbers),
                   slot(kRecordsSlot)},
                  kHeads);
  };
  auto hitScores = scores(kHitsSlot);
  add(Command::PartialScores, CreatePartialScores(builder_, 0, hitScores, kHeads, 0),
      "scores of hits");
  wait(kRowsIn);
  auto missScores = scores(kMissesSlot), attention = scores(kSlotsSlot);
  add(Command::HeadAttention, CreateHeadAttention(builder_, 0, attention, 0, kHeads, 0, missScores),
      "attention");
  wait(kRowsAhead);
}

void Builder::addRest() {
  add(Command::Reload, CreateReload(builder_, -1, 3, kIn, kKeysIn), "reload keys");
  wait(kKeysIn);
  add(Command::Launch,
      launch({slot(kHidden), Argument(ArgumentKind::Cache, 3, 0), step(StepArray::Pages)}, 1),
      "read keys");
  writeBack(3, kKeysHome, "write keys");
  add(Command::Reload, CreateReload(builder_, 0, -1, kIn, kWeightIn), "reload weight");
  wait(kWeightIn);
  const View hidden(slot(kHidden), kWidth, 0), logits(slot(kLogits), kVocabulary, 0);
  const Size tokens(1, 0, 0);
  std::vector<Offset<ProductPart>> parts{CreateProductPart(builder_, 0, -1, &logits, kVocabulary)};
  add(Command::Product, CreateProductDirect(builder_, &hidden, &parts, nullptr, &tokens, 1, kWidth),
      "head");
  wait(kLeaderHome);
  wait(kFollowerHome);
  wait(kKeysHome);
}

Offset<Cache> Builder::cache(const char *name, Residence residence, int32_t staging) {
  std::vector<Offset<CacheField>> fields{
      CreateCacheField(builder_, FieldRole::KeyValue, 1, int32_t(kWidth), ElementType::F32)};
  return CreateCacheDirect(builder_, name, &fields, int32_t(kPage), false, RopeLayout::None, false,
                           residence, staging);
}

Offset<Manifest> Builder::makeManifest() {
  addRows();
  addAttention();
  addRest();
  std::vector<Offset<Cache>> caches{
      cache("near", Residence::Whole, -1), cache("leader", Residence::Rows, -1),
      cache("follower", Residence::Rows, -1), cache("keys", Residence::Reloaded, 0),
      cache("index", Residence::Streamed, 0)};
  std::vector<int64_t> shape{kVocabulary, kWidth};
  std::vector<Offset<Weight>> weights{
      CreateWeightDirect(builder_, "far", &shape, ElementType::F32, 0, 0, 0, "", 0, 0, false, 0),
      CreateWeightDirect(builder_, "near", &shape, ElementType::F32, 0, 0, 0, "", 0, 0, true)};
  std::vector<Offset<Slot>> slots;
  for (int64_t bytes :
       {4 * kWidth, 4 * kVocabulary, 4 * kRows, 4 * kRows, 4 * kRows, 4 * kRows, 4 * kRows}) {
    const Size size(bytes, 0, 0);
    slots.push_back(CreateSlot(builder_, &size));
  }
  std::vector<Offset<Tier>> tiers{CreateTierDirect(builder_, "hbm", 1 << 20),
                                  CreateTierDirect(builder_, "ddr", 0)};
  std::vector<Offset<Engine>> engines{CreateEngineDirect(builder_, "in", 1e9, 1e-6),
                                      CreateEngineDirect(builder_, "out", 5e8, 0)};
  std::vector<Offset<SlotTable>> tables{CreateSlotTable(builder_, 5, kRows),
                                        CreateSlotTable(builder_, 4, kRows)};
  std::vector<Offset<HotSet>> hotSets{CreateHotSet(builder_, 1, 0), CreateHotSet(builder_, 2, 1)};
  std::vector<Offset<StagingPool>> pools{CreateStagingPool(builder_, kRecordBytes, kPage)};
  std::vector<Offset<BlockBuffers>> buffers{CreateBlockBuffers(builder_, 64, kRecordBytes)};
  std::vector<uint64_t> weightSlots{uint64_t(4 * kVocabulary * kWidth)};
  auto plan = CreatePlacementPlanDirect(builder_, "cpu-two-tier", 128, 2, 16);
  std::vector<Offset<flatbuffers::String>> kernels{builder_.CreateString("attention"),
                                                   builder_.CreateString("scores")};
  const Blob object(4096, 1, 0), none;
  std::vector<Offset<Variant>> variants{CreateVariantDirect(builder_, "x86-64", &object)};
  std::vector<int32_t> eos;
  const View logits(slot(kLogits), kVocabulary, 0);
  return CreateManifestDirect(builder_, "strata test", "tiered", ElementType::F32, kVocabulary, 128,
                              &eos, 1, 0, &caches, &weights, &slots, &kernels, &commands_, &logits,
                              &variants, &none, &tiers, &engines, &tables, &hotSets, &pools,
                              &buffers, &weightSlots, plan);
}

} // namespace

std::vector<uint8_t> makeTieredTestManifest() { return Builder().run(); }

} // namespace strata::rt
