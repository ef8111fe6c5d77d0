//===- MemoryRowsTest.cpp - Rows 49, 50 and 53: what a step needs ---------===//
#include "Harness.h"

#include "strata/InitAll.h"
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Analysis/StepCosts.h"
#include "strata/lib/Report/Workspace.h"
#include "strata/runtime/cpu/CpuExecutor.h"

#include <fstream>

using namespace strata;
using namespace strata::rows;

namespace {

// The scores of 8192 tokens against 128K positions would be 4 GiB for each indexer; rows are
// selected without that matrix.
TEST(DomainRows, Row49LongPrefillNeedsNoMatrixOfScores) {
  mlir::MLIRContext context;
  ImportOptions importOptions;
  importOptions.withWeights = false;
  std::vector<importer::Note> notes;
  ImportedModel module =
      importFolder(context, STRATA_TEST_CONFIGS "/glm-5.2.json", importOptions, notes);
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::string bytes = compile(**module, NumberFormat::F32, 64);
  std::vector<std::aligned_storage_t<16, 16>> aligned(bytes.size() / 16 + 1);
  std::memcpy(static_cast<void *>(aligned.data()), bytes.data(), bytes.size());
  Expected<std::unique_ptr<rt::Package>> package =
      rt::Package::fromBytes({reinterpret_cast<const char *>(aligned.data()), bytes.size()});
  ASSERT_TRUE(package.ok()) << package.status().message();
  ASSERT_EQ((*package)->manifest().indexer_count(), 21);

  // The widest activation is that of the chosen experts: 8 × 6144 f32 for each token.
  int64_t widest = 8192 * int64_t(8) * 6144 * 4, total = 0;
  for (const package::Slot *slot : *(*package)->manifest().slots()) {
    int64_t size = rt::evaluate(*slot->bytes(), 8192, 1);
    EXPECT_LE(size, widest);
    total += size;
  }
  EXPECT_LE(total, 8 * widest);
}

/// A model with real index rows and room for many positions.
std::unique_ptr<Model> longModel() {
  json config = glmConfig();
  config["max_position_embeddings"] = 131072;
  ModelOptions options;
  options.pageSize = 64;
  return Model::create(config, options);
}

rt::ExecutorOptions limitsFor(int64_t pages, int64_t tokens) {
  rt::ExecutorOptions limits;
  limits.maxPages = pages;
  limits.maxTokens = tokens;
  limits.threads = 2;
  return limits;
}

// All memory is planned before the first step, and grows with the context by the caches alone.
TEST(DomainRows, Row49WorkspaceDoesNotGrowWithTheContext) {
  std::unique_ptr<Model> model = longModel();
  int64_t pageBytes = 0;
  for (const package::Cache *cache : *model->package().manifest().caches())
    pageBytes += rt::recordBytes(*cache) * cache->page_size();
  uint64_t small = model->executor(Device::Cpu, limitsFor(16, 512))->memoryBytes();
  uint64_t large = model->executor(Device::Cpu, limitsFor(2048, 512))->memoryBytes();
  EXPECT_EQ(large - small, uint64_t(2048 - 16) * uint64_t(pageBytes));
}

TEST(DomainRows, Row50TheMemoryLimitIsExact) {
  std::unique_ptr<Model> model = longModel();
  rt::ExecutorOptions limits = limitsFor(64, 128);
  uint64_t needed = model->executor(Device::Cpu, limits)->memoryBytes();
  for (uint64_t limit : {needed, needed - 1}) {
    limits.memoryLimit = limit;
    Expected<std::unique_ptr<rt::Executor>> executor =
        rt::createCpuExecutor(model->package(), model->checkpoint(), limits);
    EXPECT_EQ(executor.ok(), limit == needed);
    if (limit == needed)
      continue;
    EXPECT_EQ(executor.status().code(), StatusCode::OutOfMemory);
    EXPECT_NE(executor.status().message().find(std::to_string(needed)), std::string::npos)
        << executor.status().message();
  }
}

/// A number of kilobytes from /proc/self/status, in bytes; −1 where there is none.
int64_t processMemory(const std::string &key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == key + ":") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return -1;
}

// What the process takes at its peak is what was predicted, scratch of the selection included.
TEST(DomainRows, Row50MeasuredMemoryIsThePredictedOne) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer's own memory would be measured";
#endif
  std::unique_ptr<Model> model = longModel();
  rt::ExecutorOptions limits = limitsFor(128, 512);
  limits.maxWanted = 1;
  limits.poison = true; // touches every byte
  auto longRun = [&] {
    std::unique_ptr<rt::Executor> executor = model->executor(Device::Cpu, limits);
    rt::SessionOptions options;
    options.chunk = 512;
    options.maxNewTokens = 2;
    rt::Session session(*executor, limits, options);
    EXPECT_TRUE(session.addPrompt({makePrompt(4096, 50), {}, {}}).ok());
    while (!session.finished()) {
      Status status = session.step();
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok())
        break;
    }
    return int64_t(executor->memoryBytes());
  };
  // Resets the peak (proc(5)).
  auto resetPeak = [] { return bool(std::ofstream("/proc/self/clear_refs") << "5" << std::flush); };
  if (processMemory("VmHWM") < 0 || !resetPeak())
    GTEST_SKIP() << "the peak of memory can't be measured here";
  int64_t before = processMemory("VmRSS");
  int64_t predicted = longRun();
  int64_t used = processMemory("VmHWM") - before;
  // Beside it: the library's code and its threads' stacks. Scores of a step would be 8 MiB.
  EXPECT_LE(used, predicted + (int64_t(5) << 20));
  EXPECT_GE(used, predicted / 2); // it was measured
}

/// The model of longModel with another k, of the phase `input`.
mlir::OwningOpRef<mlir::ModuleOp> importLongModel(mlir::MLIRContext &context, int64_t k) {
  json config = glmConfig();
  config["max_position_embeddings"] = 131072;
  config["index_topk"] = k;
  TestFolder folder;
  folder.write("config.json", config.dump());
  ImportOptions options;
  options.withWeights = false;
  std::vector<importer::Note> notes;
  ImportedModel module = importFolder(context, folder.file("config.json"), options, notes);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? std::move(*module) : mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
}

// Attention reads and multiplies k records for each token, however long the sequence is.
TEST(DomainRows, Row53AttentionCostsKRecordsAtAnyLength) {
  mlir::MLIRContext context;
  for (int64_t k : {8, 16}) {
    mlir::OwningOpRef<mlir::ModuleOp> module = importLongModel(context, k);
    auto step = module->lookupSymbol<mlir::func::FuncOp>(kEntryPoint);
    ASSERT_TRUE(step);
    double scanFlops = 0;
    for (int64_t length : {1024, 4096}) {
      StepSizes sizes;
      sizes.visible = double(length);
      KindCosts decode = computeStepCosts(step, sizes).getTotal();
      // 10 layers of 4 heads; a record has 40 features for scores, 32 of them for values.
      EXPECT_EQ(decode.attentionFlops, double(10 * 2 * 4 * k * (40 + 32))) << length;
      EXPECT_EQ(decode.latentBytes, double(10 * k * 40 * 4)) << length;
      // What does grow is the scan of the index keys.
      EXPECT_GE(decode.scanFlops, 2 * scanFlops);
      scanFlops = decode.scanFlops;

      sizes.tokens = double(length);
      sizes.visible = double(length + 1) / 2;
      sizes.spread = double(length - 1) / 2;
      KindCosts prefill = computeStepCosts(step, sizes).getTotal();
      // The first k tokens see less than k.
      EXPECT_LE(prefill.attentionFlops, double(length) * decode.attentionFlops) << length;
      EXPECT_GE(prefill.attentionFlops, double(length - k) * decode.attentionFlops) << length;
    }
  }
}

// Nor is there any memory that grows with the square of the length, or in decoding with the length.
TEST(DomainRows, Row53LoweredStepsNeedNoMemoryForTheLength) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = importLongModel(context, 8);
  ASSERT_FALSE(compile(*module, NumberFormat::F32, 64).empty()); // lowers it
  auto workspaceOf = [&](int64_t tokens, int64_t positions) {
    mlir::FailureOr<Workspace> workspace = computeWorkspace(*module, tokens, 1, positions);
    EXPECT_TRUE(mlir::succeeded(workspace));
    return mlir::succeeded(workspace) ? *workspace : Workspace();
  };
  // The selection is counted: with k positions there is none.
  EXPECT_GT(workspaceOf(1, 1024).getBytes(), workspaceOf(1, 8).getBytes());
  EXPECT_EQ(workspaceOf(1, 4096).getBytes(), workspaceOf(1, 1024).getBytes());
  EXPECT_LE(workspaceOf(4096, 4096).getBytes(), 4 * workspaceOf(1024, 1024).getBytes());
}

} // namespace
