//===- SelectionRowsTest.cpp - Ties, missing rows and layouts -------------===//
#include "Harness.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/lib/Reference/Choice.h"
#include "strata/lib/Reference/InputModule.h"
#include "strata/runtime/cpu/TopK.h"

#include "mlir/IR/AttrTypeSubElements.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace strata;
using namespace strata::rows;

namespace {

// Every score is exactly +0 or −0: the first k positions, whoever looks and however long the row.
TEST(DomainRows, Row41ZeroPlateauSelectsTheFirstPositions) {
  for (float factor : {0.0f, -0.0f}) {
    ModelOptions options;
    options.edit = scaled("model.layers.0.self_attn.indexer.weights_proj.weight", factor);
    std::unique_ptr<Model> model = Model::create(glmConfig(), options);
    RunOptions runOptions;
    runOptions.tiesAreMeant = true;
    rt::Generation found = runBoth(*model, {makePrompt(300, 41)}, runOptions)[0];
    std::vector<int32_t> first(8);
    std::iota(first.begin(), first.end(), 0);
    for (int64_t token = 7; token < 300; ++token)
      ASSERT_EQ(rowOf(found, 0, token), first) << "token " << token;
  }
}

/// The row that the processor's selection gives, with scores coming in blocks.
std::vector<int32_t> selectInBlocks(const std::vector<float> &scores, int64_t k, int64_t block) {
  std::vector<rt::Candidate> storage(size_t(rt::TopK::storageSize(k, block)));
  rt::TopK topK(k, block, storage.data());
  for (int64_t begin = 0; begin < int64_t(scores.size()); begin += block)
    topK.add(&scores[size_t(begin)], std::min(block, int64_t(scores.size()) - begin), begin);
  rt::TopK::Best best = topK.best();
  std::vector<int32_t> row;
  for (int64_t i = 0; i < best.count; ++i)
    row.push_back(rt::positionOf(best.candidates[i]));
  return row;
}

/// Scores with many ties, both zeros, infinities, subnormal numbers and NaN.
std::vector<float> oddScores(std::mt19937 &random, size_t count) {
  const float values[] = {0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3e38f};
  std::vector<float> scores(count);
  for (float &score : scores)
    score = random() % 3 ? values[random() % 10] : float(int(random() % 2001) - 1000) / 256;
  return scores;
}

// Two implementations of one rule: the processor's and the reference's.
TEST(DomainRows, Row43SelectionsAgreeOnEveryKindOfScore) {
  std::mt19937 random(43);
  for (int round = 0; round < 3000; ++round) {
    std::vector<float> scores = oddScores(random, 1 + random() % 400);
    int64_t k = 1 + int64_t(random() % 80), block = 1 + int64_t(random() % 100);
    std::vector<int32_t> positions(scores.size());
    std::iota(positions.begin(), positions.end(), 0);
    ASSERT_EQ(selectInBlocks(scores, k, block), reference::chooseBest(scores, positions, k))
        << "round " << round;
  }
}

// Five scores in a buffer of 256: what lies behind them is poison.
TEST(DomainRows, Row48ColumnsBehindTheLengthAreNotLookedAt) {
  std::vector<float> buffer(256, NAN);
  std::iota(buffer.begin(), buffer.begin() + 5, 0.0f);
  std::vector<rt::Candidate> storage(size_t(rt::TopK::storageSize(3, 256)));
  rt::TopK topK(3, 256, storage.data());
  topK.add(buffer.data(), 5, 0);
  rt::TopK::Best best = topK.best();
  ASSERT_EQ(best.count, 3);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(rt::positionOf(best.candidates[i]), 2 + i);
  EXPECT_EQ(topK.nanScores(), 0);

  // The same in a whole model: one token more than k in pages of 64, the rest of them NaN (`run`
  // expects that no score is).
  ModelOptions options;
  options.pageSize = 64;
  std::unique_ptr<Model> model = Model::create(glmConfig(), options);
  runBoth(*model, {makePrompt(9, 48)});
}

// Two shards that take turns page by page; their best are merged by score and global position.
TEST(DomainRows, Row68ShardsByPageMergeExactly) {
  constexpr int64_t kPage = 4;
  std::mt19937 random(68);
  for (int round = 0; round < 500; ++round) {
    std::vector<float> scores(100 + random() % 300);
    for (float &score : scores)
      score = float(int(random() % 7) - 3); // many ties
    int64_t k = 1 + int64_t(random() % 50);
    std::vector<rt::Candidate> merged;
    for (int64_t shard : {0, 1}) {
      std::vector<rt::Candidate> storage(size_t(rt::TopK::storageSize(k, kPage)));
      rt::TopK topK(k, kPage, storage.data());
      for (int64_t begin = shard * kPage; begin < int64_t(scores.size()); begin += 2 * kPage)
        topK.add(&scores[size_t(begin)], std::min(kPage, int64_t(scores.size()) - begin), begin);
      rt::TopK::Best best = topK.best();
      merged.insert(merged.end(), best.candidates, best.candidates + best.count);
    }
    std::vector<rt::Candidate> scratch(merged.size());
    if (int64_t(merged.size()) > k)
      rt::keepBest(merged.data(), int64_t(merged.size()), k, scratch.data());
    std::vector<int32_t> row;
    for (int64_t i = 0; i < std::min(k, int64_t(merged.size())); ++i)
      row.push_back(rt::positionOf(merged[size_t(i)]));
    std::sort(row.begin(), row.end());
    ASSERT_EQ(row, selectInBlocks(scores, k, 64)) << "round " << round;
  }
}

/// Rows for 12 tokens: what each sees, but the last token gets `last`.
std::vector<std::vector<int32_t>> rowsWithLast(const std::vector<int32_t> &last) {
  std::vector<int32_t> rows;
  for (int32_t token = 0; token < 12; ++token)
    for (int32_t j = 0; j < 8; ++j)
      rows.push_back(token < 11 ? (j <= token ? j : -1) : last[size_t(j)]);
  return std::vector<std::vector<int32_t>>(4, rows);
}

// A missing row is −1, at the tail; it is checked before any address is made from it.
TEST(DomainRows, Row57MissingRowsAreNeverAddresses) {
  std::unique_ptr<Model> model = Model::create(glmConfig());
  std::vector<int32_t> tokens = makePrompt(12, 57);
  auto pages = [](int32_t) { return std::vector<int32_t>{2, 0, 1}; };
  rt::ExecutorOptions limits;
  limits.maxPages = 3;
  limits.maxTokens = limits.maxWanted = 12;
  limits.poison = true;
  auto imported = [&](Device device, const std::vector<int32_t> &last) {
    return runStep(*model->executor(device, limits), {{0, 0, tokens}}, pages, rowsWithLast(last));
  };
  for (const std::vector<int32_t> &row : {std::vector<int32_t>{0, 2, -1, -1, -1, -1, -1, -1},
                                          {11, -1, -1, -1, -1, -1, -1, -1},
                                          {-1, -1, -1, -1, -1, -1, -1, -1},
                                          {0, 1, 2, 3, 4, 5, 6, 11}}) {
    StepResult found = imported(Device::Cpu, row), expected = imported(Device::Reference, row);
    ASSERT_TRUE(found.status.ok() && expected.status.ok());
    EXPECT_EQ(found.rows, expected.rows);
    for (size_t i = 0; i < found.logits.size(); ++i)
      ASSERT_NEAR(found.logits[i], expected.logits[i], 1e-3) << "logit " << i;
  }
  // Kernels skip −1 wherever it stands (AttentionKernelsTest); rows from outside are refused.
  for (Device device : {Device::Cpu, Device::Reference})
    for (const std::vector<int32_t> &row : {std::vector<int32_t>{-1, 2, -1, 0, -1, -1, -1, -1},
                                            {0, -1, 2, -1, -1, -1, -1, -1},
                                            {0, 12, -1, -1, -1, -1, -1, -1},
                                            {0, -2, -1, -1, -1, -1, -1, -1},
                                            {2, 2, -1, -1, -1, -1, -1, -1}}) {
      Status status = imported(device, row).status;
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.message().find("ascending positions below 12"), std::string::npos)
          << status.message();
    }
}

/// All caches planar.
void makePlanar(mlir::ModuleOp module) {
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement([](CacheType type) -> mlir::Type {
    return CacheType::get(type.getContext(), type.getFields(), type.getPageSize(), /*planar=*/true,
                          type.getRope(), type.getHadamard());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

// A planar page read as interleaved records, or the other way round, is a type error; each layout
// by itself gives the same model.
TEST(DomainRows, Row58LayoutsNeverMix) {
  auto moduleWith = [](const char *argument, const char *use, const char *result) {
    std::string cache = "!strata.cache<key_value 4xf32, key 4xf32, page = 64";
    auto type = [&](const char *layout) { return cache + layout + ", rope = interleaved>"; };
    return "func.func @step(%batch: !strata.batch, %keys: " + type(argument) +
           ", %a: tensor<?x4xf32>) -> " + type(result) +
           " {\n  %next = strata.append %keys[%batch], %a, %a : " + type(use) +
           ", tensor<?x4xf32>, tensor<?x4xf32>\n  return %next : " + type(result) + "\n}\n";
  };
  auto error = [](const std::string &text) {
    mlir::MLIRContext context;
    Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = reference::parseInputModule(text, context);
    return module.ok() ? "" : module.status().message();
  };
  const char *plain = "", *planar = ", planar";
  EXPECT_EQ(error(moduleWith(plain, plain, plain)), "");
  EXPECT_EQ(error(moduleWith(planar, planar, planar)), "");
  EXPECT_NE(error(moduleWith(planar, plain, plain)), "");
  EXPECT_NE(error(moduleWith(plain, planar, planar)), "");
  EXPECT_NE(error(moduleWith(plain, plain, planar)), "");

  std::unique_ptr<Model> interleaved = Model::create(glmConfig());
  ModelOptions options;
  options.change = makePlanar;
  std::unique_ptr<Model> inPlanes = Model::create(glmConfig(), options);
  for (const package::Cache *cache : *inPlanes->package().manifest().caches())
    EXPECT_TRUE(cache->planar());
  std::vector<int32_t> prompt = makePrompt(64, 58);
  expectSameBits(runBoth(*inPlanes, {prompt})[0], runBoth(*interleaved, {prompt})[0]);
}

} // namespace
