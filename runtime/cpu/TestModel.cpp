//===- TestModel.cpp - Builds packages and checkpoints for tests ----------===//
#include "strata/runtime/cpu/TestModel.h"

#include "strata/lib/Support/File.h"
#include "strata/lib/Support/Text.h"
#include "strata/runtime/core/PackageWriter.h"

#include <numeric>
#include <random>

namespace strata::rt {

using namespace package;
using flatbuffers::Offset;

static constexpr int64_t kWidth = 32, kPageSize = 4;

std::vector<float> randomValues(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(random);
  return values;
}

TestTensor floatTensor(const std::string &name, const std::string &shape,
                       const std::vector<float> &values) {
  return {name, "F32", shape, bytesOf(values)};
}

Expected<Checkpoint> makeCheckpoint(const std::vector<TestTensor> &tensors) {
  // Data begins at a multiple of 8, as other writers have it.
  std::string file = safetensorsFile(tensors);
  size_t headerSize = 0;
  for (size_t i = 0; i < 8; ++i)
    headerSize |= size_t(uint8_t(file[i])) << (8 * i);
  std::string header = file.substr(8, headerSize), data = file.substr(8 + headerSize);
  header.append((8 - headerSize % 8) % 8, ' ');
  TestFolder folder;
  return Checkpoint::open(folder.write("model.safetensors", safetensorsFile(header, data)));
}

int32_t TestModel::slot(int64_t bytesPerToken, int64_t bytesPerWanted, int64_t fixed) {
  Size bytes(bytesPerToken, bytesPerWanted, fixed);
  slots_.push_back(CreateSlot(builder, &bytes));
  return int32_t(slots_.size()) - 1;
}

int32_t TestModel::weight(const std::string &name, const std::vector<int64_t> &shape,
                          const std::vector<float> &values, bool widen) {
  weightEntries_.push_back({name, shape, widen});
  size_t brace = name.find('{');
  if (brace == std::string::npos) {
    tensors_.push_back(floatTensor(name, shapeText(shape), values));
  } else {
    // A stack: its tensors are {0..n}.
    size_t member = values.size() / size_t(shape[0]);
    for (int64_t e = 0; e < shape[0]; ++e)
      tensors_.push_back(floatTensor(
          name.substr(0, brace) + std::to_string(e) + name.substr(name.find('}') + 1),
          "[" + std::to_string(shape[1]) + "," + std::to_string(shape[2]) + "]",
          {values.begin() + e * int64_t(member), values.begin() + (e + 1) * int64_t(member)}));
  }
  return int32_t(weightEntries_.size()) - 1;
}

int32_t TestModel::kernelNumber(const std::string &kernel) {
  auto found = std::find(kernels_.begin(), kernels_.end(), kernel);
  if (found == kernels_.end())
    found = kernels_.insert(found, kernel);
  return int32_t(found - kernels_.begin());
}

int32_t TestModel::cache(Residence residence, int32_t staging) {
  caches_.push_back({residence, staging});
  return int32_t(caches_.size()) - 1;
}

void TestModel::setResidence(Residence residence, int32_t staging) {
  caches_[0] = {residence, staging};
}

Offset<Launch> TestModel::launchTable(const std::string &kernel,
                                      const std::vector<Argument> &arguments, Size items) {
  return CreateLaunchDirect(builder, kernelNumber(kernel), &arguments, &items, 1);
}

void TestModel::launch(const std::string &kernel, const std::vector<Argument> &arguments,
                       Size items) {
  add(Command::Launch, launchTable(kernel, arguments, items), kernel);
}

void TestModel::select(int32_t querySlot, int32_t weightsSlot, int32_t outputSlot, int64_t k,
                       int32_t cache, int32_t engine) {
  View query = view(querySlot, kWidth), weights = view(weightsSlot, kWidth);
  Argument output = slotArgument(outputSlot);
  add(Command::Select,
      CreateSelect(builder, kernelNumber("scores"), &query, &weights, cache, &output, k, selects_,
                   /*exported=*/false, engine),
      "select");
}

int32_t TestModel::gatherTable(const std::vector<float> &table) {
  int32_t tableWeight = weight("table", {vocabulary_, kWidth}, table);
  int32_t rows = slot(4 * kWidth);
  launch("gather", {stepArgument(StepArray::TokenIds),
                    Argument(ArgumentKind::Weight, tableWeight, 0), slotArgument(rows)});
  return rows;
}

void TestModel::setLogits(int32_t rowsSlot) {
  logitsSlot_ = slot(0, 4 * kWidth);
  launch("pick",
         {stepArgument(StepArray::Wanted), slotArgument(rowsSlot), slotArgument(logitsSlot_)},
         Size(0, 1, 0));
}

Expected<std::unique_ptr<Executor>> TestModel::finish(ExecutorOptions options) {
  if (!package_) {
    if (logitsSlot_ < 0)
      logitsSlot_ = slot(0, 4 * std::max(vocabulary_, kWidth));
    std::vector<Offset<CacheField>> fields{
        CreateCacheField(builder, FieldRole::Key, 1, kWidth, package::ElementType::F32)};
    std::vector<Offset<Cache>> caches;
    for (const TestCache &cache : caches_)
      caches.push_back(CreateCacheDirect(builder, "cache", &fields, kPageSize, false,
                                         RopeLayout::None, false, cache.residence, cache.staging));
    std::vector<Offset<Weight>> weights;
    for (const WeightEntry &weight : weightEntries_) {
      auto slot = weightSlots_.find(int32_t(weights.size()));
      weights.push_back(CreateWeightDirect(
          builder, weight.name.c_str(), &weight.shape, package::ElementType::F32, 0, 0, 0, "", 0, 0,
          weight.widen, slot == weightSlots_.end() ? -1 : slot->second));
    }
    std::vector<Offset<Tier>> tierTables;
    for (uint64_t capacity : tiers.capacities)
      tierTables.push_back(
          CreateTierDirect(builder, tierTables.empty() ? "near" : "far", capacity));
    std::vector<Offset<package::Engine>> engines;
    for (double bandwidth : tiers.bandwidths)
      engines.push_back(CreateEngineDirect(builder, "engine", bandwidth, tiers.operationSeconds));
    std::vector<Offset<package::SlotTable>> slotTables;
    for (auto [slots, k] : tiers.slotTables)
      slotTables.push_back(CreateSlotTable(builder, slots, k));
    std::vector<Offset<package::HotSet>> hotSets;
    for (auto [cache, table] : tiers.hotSets)
      hotSets.push_back(CreateHotSet(builder, cache, table));
    std::vector<Offset<StagingPool>> pools;
    for (int32_t i = 0; i < tiers.stagingPools; ++i)
      pools.push_back(CreateStagingPool(builder, 4 * kWidth, kPageSize));
    std::vector<Offset<BlockBuffers>> buffers;
    for (int64_t records : tiers.blockRecords)
      buffers.push_back(CreateBlockBuffers(builder, records, 4 * kWidth));
    Offset<PlacementPlan> placement;
    if (!tierTables.empty())
      placement = CreatePlacementPlanDirect(builder, "test", 64, 2, 8);
    View logits = view(logitsSlot_, std::max(vocabulary_, kWidth));
    Blob none;
    std::vector<Offset<Variant>> variants{CreateVariantDirect(builder, "x86-64", &none),
                                          CreateVariantDirect(builder, "another", &none)};
    std::vector<Offset<flatbuffers::String>> kernels;
    for (const std::string &kernel : kernels_)
      kernels.push_back(builder.CreateString(kernel));
    std::vector<int32_t> noIds;
    FinishManifestBuffer(
        builder, CreateManifestDirect(builder, "test", "test", package::ElementType::F32,
                                      vocabulary_, 1 << 20, &noIds, selects_, routes_, &caches,
                                      &weights, &slots_, &kernels, &commands_, &logits, &variants,
                                      &none, &tierTables, &engines, &slotTables, &hotSets, &pools,
                                      &buffers, &tiers.weightSlots, placement));
    Expected<MappedFile> kernelFile = MappedFile::open(STRATA_TEST_KERNELS);
    if (!kernelFile.ok())
      return kernelFile.status();
    PackageContent content;
    content.manifest.assign(builder.GetBufferPointer(),
                            builder.GetBufferPointer() + builder.GetSize());
    content.objects = {kernelFile->text(), "not for this processor"};
    Expected<std::string> bytes = packPackage(std::move(content));
    if (!bytes.ok())
      return bytes.status();
    packageBytes_ = std::move(*bytes);
    Expected<std::unique_ptr<Package>> package = Package::fromBytes(packageBytes_);
    if (!package.ok())
      return package.status();
    Expected<Checkpoint> checkpoint = makeCheckpoint(tensors_);
    if (!checkpoint.ok())
      return checkpoint.status();
    package_ = std::move(*package);
    checkpoint_.emplace(std::move(*checkpoint));
  }
  return createCpuExecutor(*package_, *checkpoint_, options);
}

StepInput oneSequence(const std::vector<int32_t> &tokens, int32_t first) {
  StepInput input;
  size_t count = tokens.size();
  input.tokenIds = tokens;
  input.positions.resize(count);
  std::iota(input.positions.begin(), input.positions.end(), first);
  input.sequences.assign(count, 0);
  input.pageBegin.assign(count, 0);
  input.wanted.resize(count);
  std::iota(input.wanted.begin(), input.wanted.end(), 0);
  input.pages.resize((size_t(first) + count + kPageSize - 1) / kPageSize);
  std::iota(input.pages.begin(), input.pages.end(), 0);
  return input;
}

} // namespace strata::rt
