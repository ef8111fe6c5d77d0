//===- TestManifest.cpp - A placed step for tests -------------------------===//
#include "strata/lib/Sim/TestManifest.h"

#include "strata-rt/package_generated.h"

#include <algorithm>

namespace strata::sim {

using namespace package;

TestModel makeGlmModel() {
  TestModel model;
  model.leaders = {0, 1, 2};
  for (int layer = 6; layer < 78; layer += 4)
    model.leaders.push_back(layer);
  return model;
}

namespace {

class Writer {
public:
  explicit Writer(const TestModel &model) : model_(model) {}
  std::vector<uint8_t> run();

private:
  template <typename Table>
  void add(Command kind, flatbuffers::Offset<Table> table, double flops = 0) {
    std::vector<CostTerm> none, terms{CostTerm(flops, 0, CostVariable::Tokens)};
    auto cost = CreateCommandCostDirect(buffer_, &terms, &none, &none, &none, &none);
    entries_.push_back(CreateCommandEntry(buffer_, kind, table.Union(),
                                          buffer_.CreateString("layer " + std::to_string(layer_)),
                                          layer_, cost));
  }
  void addLaunch(double share, std::vector<Argument> arguments = {}) {
    Size items(1, 0, 0);
    add(Command::Launch, CreateLaunchDirect(buffer_, 0, &arguments, &items, 1),
        share * model_.layerFlops);
  }
  void addWait(int transfer) { add(Command::Wait, CreateWait(buffer_, transfer)); }
  void addLeader(int group);
  int endOfGroup(int group) const {
    return group + 1 < int(model_.leaders.size()) ? model_.leaders[size_t(group) + 1]
                                                  : model_.layers;
  }

  const TestModel &model_;
  flatbuffers::FlatBufferBuilder buffer_;
  std::vector<flatbuffers::Offset<CommandEntry>> entries_;
  int layer_ = 0;
};

} // namespace

void Writer::addLeader(int group) {
  Argument rows(ArgumentKind::Slot, 0, 0), records(ArgumentKind::Slot, 1, 0);
  View view(Argument(ArgumentKind::Slot, 2, 0), 1, 1);
  add(Command::Select, CreateSelect(buffer_, 0, &view, &view, layer_, &rows, model_.k, group));
  add(Command::Records, CreateRecords(buffer_, &rows, &records, model_.k, 64));
  add(Command::Resolve, CreateResolve(buffer_, &records, group, &records, &records, &records, 0));
  for (int layer = layer_; layer < endOfGroup(group); ++layer)
    add(Command::Gather, CreateGather(buffer_, layer, 0, layer));
  addLaunch(model_.scoresShare);
}

std::vector<uint8_t> Writer::run() {
  std::vector<flatbuffers::Offset<Cache>> caches;
  std::vector<flatbuffers::Offset<HotSet>> hotSets;
  std::vector<flatbuffers::Offset<SlotTable>> tables;
  for (int group = 0; group < int(model_.leaders.size()); ++group) {
    tables.push_back(CreateSlotTable(buffer_, model_.slots, model_.k));
    for (layer_ = model_.leaders[size_t(group)]; layer_ < endOfGroup(group); ++layer_) {
      std::vector<flatbuffers::Offset<CacheField>> fields{
          CreateCacheField(buffer_, FieldRole::KeyValue, 1, 512, ElementType::BF16),
          CreateCacheField(buffer_, FieldRole::Key, 1, 64, ElementType::BF16)};
      caches.push_back(CreateCacheDirect(buffer_, "latents", &fields, 64, false, RopeLayout::None,
                                         false, Residence::Rows));
      hotSets.push_back(CreateHotSet(buffer_, layer_, group));
      bool leads = layer_ == model_.leaders[size_t(group)];
      addLaunch(0.3);
      if (leads)
        addLeader(group);
      addWait(layer_);
      addLaunch(0.7 - (leads ? model_.scoresShare : 0),
                {Argument(ArgumentKind::HotSet, layer_, 0)});
    }
  }
  std::vector<flatbuffers::Offset<Tier>> tiers{CreateTierDirect(buffer_, "hbm", 1 << 30),
                                               CreateTierDirect(buffer_, "ddr", 0)};
  std::vector<flatbuffers::Offset<Engine>> engines{CreateEngineDirect(buffer_, "in", 1e9, 0)};
  std::vector<flatbuffers::Offset<Weight>> weights;
  Size bytes(4 * model_.k, 0, 0);
  std::vector<flatbuffers::Offset<Slot>> slots;
  for (int i = 0; i < 3; ++i)
    slots.push_back(CreateSlot(buffer_, &bytes));
  View logits(Argument(ArgumentKind::Slot, 2, 0), 16, 0);
  std::vector<int32_t> eos;
  std::vector<flatbuffers::Offset<flatbuffers::String>> kernels{buffer_.CreateString("kernel")};
  std::vector<flatbuffers::Offset<Variant>> variants;
  Blob blob(0, 0, 0);
  buffer_.Finish(CreateManifestDirect(buffer_, "test", "test", ElementType::BF16, 16, 1 << 20, &eos,
                                      int(model_.leaders.size()), 0, &caches, &weights, &slots,
                                      &kernels, &entries_, &logits, &variants, &blob, &tiers,
                                      &engines, &tables, &hotSets));
  return {buffer_.GetBufferPointer(), buffer_.GetBufferPointer() + buffer_.GetSize()};
}

std::vector<uint8_t> makeTestManifest(const TestModel &model) { return Writer(model).run(); }

Machine makeTestMachine() {
  Machine machine;
  machine.name = "test";
  machine.tiers = {{"hbm", 1 << 30, 0}, {"ddr", uint64_t(1) << 40, 0}};
  machine.links = {{"link", 1e9, 2e9, 1}};
  machine.engines = {{"in", MachineEngine::Kind::Gather, 1, 0, 0, 1e9, 0, 1, 1, 0}};
  machine.bf16Flops = machine.f32Flops = 1e12;
  return machine;
}

} // namespace strata::sim
