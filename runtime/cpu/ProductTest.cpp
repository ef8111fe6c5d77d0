//===- ProductTest.cpp ----------------------------------------------------===//
#include "strata/runtime/cpu/TestModel.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace strata;
using namespace strata::rt;

namespace {

constexpr int64_t kWidth = 32;

std::vector<float> run(TestModel &model, const std::vector<int32_t> &tokens, int threads) {
  ExecutorOptions options;
  options.maxTokens = options.maxWanted = 64;
  options.maxPages = 16;
  options.threads = threads;
  options.poison = true;
  Expected<std::unique_ptr<Executor>> executor = model.finish(options);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  std::vector<float> logits(tokens.size() * kWidth);
  StepInput input = oneSequence(tokens);
  StepOutput output;
  output.logits = logits.data();
  Status status = (*executor)->step(input, output);
  EXPECT_TRUE(status.ok()) << status.message();
  return logits;
}

/// A product of one weight.
flatbuffers::Offset<package::Product> createProduct(TestModel &model, const package::View &input,
                                                    int32_t weight, int32_t bias,
                                                    const package::View &output, package::Size rows,
                                                    int64_t batch, int64_t inputs, int64_t outputs,
                                                    bool transposed = false) {
  std::vector<flatbuffers::Offset<package::ProductPart>> parts{
      package::CreateProductPart(model.builder, weight, bias, &output, outputs)};
  return package::CreateProductDirect(model.builder, &input, &parts, nullptr, &rows, batch, inputs,
                                      transposed);
}

// Two heads of 16, each with its own matrix [8, 16], then back with the same matrices transposed.
TEST(Product, HeadsHaveTheirOwnMatricesAndStrides) {
  std::vector<float> table = randomValues(32 * kWidth, 1), w = randomValues(2 * 8 * 16, 2);
  std::vector<float> bias = randomValues(16, 3);
  TestModel model(32);
  int32_t hidden = model.gatherTable(table);
  int32_t weight = model.weight("w.{0..1}", {2, 8, 16}, w);
  int32_t biasWeight = model.weight("bias", {16}, bias, /*widen=*/true);
  int32_t narrow = model.slot(4 * 16), wide = model.slot(4 * kWidth);
  package::View input = TestModel::view(hidden, kWidth, 16),
                middle = TestModel::view(narrow, 16, 8);
  package::View output = TestModel::view(wide, kWidth, 16);
  package::Size tokens(1, 0, 0);
  model.add(package::Command::Product,
            createProduct(model, input, weight, biasWeight, middle, tokens, 2, 16, 8, false),
            "down");
  model.add(package::Command::Product,
            createProduct(model, middle, weight, -1, output, tokens, 2, 8, 16, true), "up");
  model.setLogits(wide);
  std::vector<int32_t> ids = {3, 31, 0, 7, 7, 12, 30, 1, 2, 9, 11};
  std::vector<float> logits = run(model, ids, 2);
  for (size_t n = 0; n < ids.size(); ++n)
    for (size_t head = 0; head < 2; ++head) {
      double down[8];
      for (size_t m = 0; m < 8; ++m) {
        down[m] = bias[head * 8 + m];
        for (size_t k = 0; k < 16; ++k)
          down[m] +=
              double(table[size_t(ids[n]) * kWidth + head * 16 + k]) * w[head * 128 + m * 16 + k];
      }
      for (size_t k = 0; k < 16; ++k) {
        double up = 0;
        for (size_t m = 0; m < 8; ++m)
          up += down[m] * w[head * 128 + m * 16 + k];
        ASSERT_NEAR(logits[n * kWidth + head * 16 + k], up, 1e-4);
      }
    }
  for (int threads : {1, 3, 7})
    EXPECT_EQ(run(model, ids, threads), logits) << threads << " threads";
  for (size_t n = 0; n < ids.size(); ++n)
    EXPECT_EQ(run(model, {ids[n]}, 2),
              std::vector<float>(logits.begin() + int64_t(n * kWidth),
                                 logits.begin() + int64_t((n + 1) * kWidth)));
}

TEST(Product, RowsOfWantedTokensOnly) {
  std::vector<float> table = randomValues(32 * kWidth, 4), w = randomValues(kWidth * kWidth, 5);
  TestModel model(32);
  int32_t hidden = model.gatherTable(table);
  int32_t weight = model.weight("w", {kWidth, kWidth}, w);
  int32_t product = model.slot(4 * kWidth);
  package::View input = TestModel::view(hidden, kWidth), output = TestModel::view(product, kWidth);
  package::Size wanted(0, 1, 0);
  model.add(package::Command::Product,
            createProduct(model, input, weight, -1, output, wanted, 1, kWidth, kWidth), "product");
  model.setLogits(product);
  ExecutorOptions options;
  options.maxTokens = 8;
  options.maxPages = 2;
  options.maxWanted = 8;
  Expected<std::unique_ptr<Executor>> executor = model.finish(options);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  StepInput step = oneSequence({5, 6, 7});
  step.wanted = {};
  StepOutput result;
  EXPECT_TRUE((*executor)->step(step, result).ok());
  step.wanted = {0};
  std::vector<float> logits(kWidth);
  result.logits = logits.data();
  EXPECT_TRUE((*executor)->step(step, result).ok());
  double sum = 0;
  for (size_t k = 0; k < kWidth; ++k)
    sum += double(table[5 * kWidth + k]) * w[k];
  EXPECT_NEAR(logits[0], sum, 1e-4);
}

TEST(Product, RopeTableKeepsItsDigitsAtLargePositions) {
  TestModel model(32);
  model.gatherTable(std::vector<float>(32 * kWidth));
  int32_t table = model.slot(4 * kWidth);
  std::vector<double> frequencies;
  for (int i = 0; i < 16; ++i)
    frequencies.push_back(std::pow(10000.0, -i / 16.0));
  package::View output = TestModel::view(table, kWidth);
  model.add(package::Command::RopeTable,
            package::CreateRopeTableDirect(model.builder, &output, &frequencies, 1.25), "rope");
  model.setLogits(table);
  ExecutorOptions options;
  options.maxTokens = options.maxWanted = 32;
  options.maxPages = 8;
  Expected<std::unique_ptr<Executor>> executor = model.finish(options);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  for (int32_t first : {0, 1000000}) {
    StepInput step = oneSequence(std::vector<int32_t>(20, 0), first);
    std::fill(step.pages.begin(), step.pages.end(), 0); // nothing is stored
    std::vector<float> logits(20 * kWidth);
    StepOutput result;
    result.logits = logits.data();
    ASSERT_TRUE((*executor)->step(step, result).ok());
    for (size_t n = 0; n < 20; ++n)
      for (size_t i = 0; i < 16; ++i) {
        long double angle = (long double)(first + int32_t(n)) * frequencies[i];
        ASSERT_NEAR(logits[n * kWidth + i], double(std::cos(angle) * 1.25L), 1e-7);
        ASSERT_NEAR(logits[n * kWidth + 16 + i], double(std::sin(angle) * 1.25L), 1e-7);
      }
  }
}

} // namespace
