//===- ExpertsTest.cpp ----------------------------------------------------===//
#include "strata/runtime/cpu/TestModel.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace strata;
using namespace strata::rt;

namespace {

constexpr int64_t kWidth = 32, kExperts = 5, kPerToken = 2, kVocabulary = 20;

/// A router on the first 5 values of a token's row, its experts grouped, and one grouped product.
/// Logits are what `Output` says, in entries of a token.
enum class Output { Order, Rank, FirstProduct, SecondProduct };

struct ExpertModel {
  TestModel model{32};
  std::vector<float> table = randomValues(32 * kWidth, 1);
  std::vector<float> stack = randomValues(kExperts * kWidth * kWidth, 2);
  std::vector<float> second = randomValues(kExperts * kWidth * kWidth, 3);

  explicit ExpertModel(Output output) {
    using namespace package;
    flatbuffers::FlatBufferBuilder &builder = model.builder;
    int32_t hidden = model.gatherTable(table);
    int32_t experts = model.slot(4 * kPerToken), weights = model.slot(4 * kPerToken);
    int32_t order = model.slot(4 * kPerToken), rank = model.slot(4 * kPerToken);
    int32_t offsets = model.slot(0, 0, 4 * (kExperts + 1));
    int32_t up = model.slot(4 * kPerToken * kWidth), down = model.slot(4 * kPerToken * kWidth);
    View rows = TestModel::view(hidden, kWidth);
    Argument expertsArgument = TestModel::slotArgument(experts);
    Argument weightsArgument = TestModel::slotArgument(weights);
    Argument orderArgument = TestModel::slotArgument(order);
    Argument rankArgument = TestModel::slotArgument(rank);
    Argument offsetsArgument = TestModel::slotArgument(offsets);
    model.add(Command::Route,
              CreateRoute(builder, &rows, -1, &expertsArgument, &weightsArgument, kExperts,
                          kPerToken, Scoring::Sigmoid, 1, 1, GroupScore::TopTwoSum, true, 1, 0),
              "route");
    model.add(Command::GroupByExpert,
              CreateGroupByExpert(builder, &expertsArgument, &orderArgument, &rankArgument,
                                  &offsetsArgument, kPerToken, kExperts),
              "group");
    View upRows = TestModel::view(up, kWidth), downRows = TestModel::view(down, kWidth);
    int32_t stackWeight = model.weight("e.{0..4}.up", {kExperts, kWidth, kWidth}, stack);
    int32_t secondWeight = model.weight("e.{0..4}.down", {kExperts, kWidth, kWidth}, second);
    model.add(Command::GroupedProduct,
              CreateGroupedProduct(builder, &rows, &orderArgument, &offsetsArgument, true,
                                   stackWeight, -1, -1, &upRows, kPerToken, kExperts, kWidth,
                                   kWidth),
              "up");
    model.add(Command::GroupedProduct,
              CreateGroupedProduct(builder, &upRows, &orderArgument, &offsetsArgument, false,
                                   secondWeight, -1, -1, &downRows, kPerToken, kExperts, kWidth,
                                   kWidth),
              "down");
    if (output == Output::FirstProduct || output == Output::SecondProduct) {
      model.setLogits(output == Output::FirstProduct ? up : down);
      return;
    }
    // The token's two integers become the first two values of its row.
    model.launch("to_float",
                 {TestModel::slotArgument(output == Output::Order ? order : rank),
                  TestModel::slotArgument(up)},
                 Size(kPerToken, 0, 0));
    model.setLogits(up);
  }
};

struct Result {
  std::vector<float> logits;
  std::vector<int32_t> experts;
};

Result run(ExpertModel &model, const std::vector<int32_t> &tokens, int threads = 2,
           const std::vector<int32_t> &imported = {}) {
  ExecutorOptions options;
  options.maxTokens = options.maxWanted = int64_t(tokens.size());
  options.maxPages = 8;
  options.threads = threads;
  options.poison = true;
  Expected<std::unique_ptr<Executor>> executor = model.model.finish(options);
  EXPECT_TRUE(executor.ok()) << executor.status().message();
  Result result;
  result.logits.resize(tokens.size() * kWidth);
  result.experts.resize(tokens.size() * kPerToken);
  StepInput input = oneSequence(tokens);
  if (!imported.empty())
    input.importedExperts = {imported.data()};
  StepOutput output;
  output.logits = result.logits.data();
  output.experts = {result.experts.data()};
  Status status = (*executor)->step(input, output);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

std::vector<int32_t> someTokens(int32_t count) {
  std::vector<int32_t> tokens;
  for (int32_t n = 0; n < count; ++n)
    tokens.push_back(n * 7 % 32);
  return tokens;
}

/// What order and rank must be.
std::pair<std::vector<int32_t>, std::vector<int32_t>> group(const std::vector<int32_t> &experts) {
  std::vector<int32_t> order, rank(experts.size());
  for (int32_t e = 0; e < kExperts; ++e)
    for (int32_t entry = 0; entry < int32_t(experts.size()); ++entry)
      if (experts[size_t(entry)] == e) {
        rank[size_t(entry)] = int32_t(order.size());
        order.push_back(entry);
      }
  return {order, rank};
}

/// x w for one row of 32, in f64.
std::vector<double> multiply(const double *x, const float *w) {
  std::vector<double> y(kWidth);
  for (int64_t m = 0; m < kWidth; ++m)
    for (int64_t k = 0; k < kWidth; ++k)
      y[size_t(m)] += x[k] * w[m * kWidth + k];
  return y;
}

TEST(Experts, EntriesAreSortedByExpertAndStable) {
  std::vector<int32_t> tokens = someTokens(kVocabulary);
  ExpertModel orderModel(Output::Order), rankModel(Output::Rank);
  Result ordered = run(orderModel, tokens), ranked = run(rankModel, tokens);
  auto [order, rank] = group(ordered.experts);
  // to_float wrote entries one after the other into the rows' slot.
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(ordered.logits[i], float(order[i]));
    EXPECT_EQ(ranked.logits[i], float(rank[i]));
  }
}

TEST(Experts, ImportedExpertsAreUsed) {
  std::vector<int32_t> tokens = someTokens(3), imported = {0, 4, 2, 3, 0, 1};
  ExpertModel model(Output::Order);
  Result result = run(model, tokens, 2, imported);
  EXPECT_EQ(result.experts, imported);
  EXPECT_EQ(group(imported).first[0], int32_t(result.logits[0]));
}

TEST(Experts, ImportedExpertsThatCannotBeAreRefused) {
  ExpertModel model(Output::Order);
  Expected<std::unique_ptr<Executor>> executor = model.model.finish({});
  ASSERT_TRUE(executor.ok());
  for (const std::vector<int32_t> &imported :
       {std::vector<int32_t>{0, 5}, {-1, 2}, {2, 2}, {3, 1}}) {
    StepInput input = oneSequence({1});
    input.importedExperts = {imported.data()};
    StepOutput output;
    Status status = (*executor)->step(input, output);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find("imported experts of mixture 0, token 0"), std::string::npos)
        << status.message();
  }
}

TEST(Experts, GroupedProductsAreAccurateForGatheredAndSortedRows) {
  std::vector<int32_t> tokens = someTokens(kVocabulary);
  ExpertModel model(Output::SecondProduct);
  Result result = run(model, tokens);
  std::vector<int32_t> order = group(result.experts).first;
  // Logits are the first rows in order of rank.
  for (size_t r = 0; r < tokens.size(); ++r) {
    size_t entry = size_t(order[r]);
    size_t e = size_t(result.experts[entry]) * kWidth * kWidth;
    const float *row = &model.table[size_t(tokens[entry / kPerToken]) * kWidth];
    std::vector<double> x(row, row + kWidth);
    std::vector<double> y = multiply(multiply(x.data(), &model.stack[e]).data(), &model.second[e]);
    for (size_t m = 0; m < kWidth; ++m)
      ASSERT_NEAR(result.logits[r * kWidth + m], y[m], 2e-4);
  }
}

TEST(Experts, RowsDoNotDependOnOtherTokensOrThreads) {
  std::vector<int32_t> tokens = someTokens(32);
  ExpertModel model(Output::SecondProduct);
  Result all = run(model, tokens, 1);
  EXPECT_EQ(run(model, tokens, 3).logits, all.logits);
  std::vector<int32_t> rank = group(all.experts).second;
  for (size_t n = 0; n < tokens.size(); ++n) {
    Result alone = run(model, {tokens[n]});
    // Alone, the token's first expert has rank 0.
    size_t r = size_t(rank[n * kPerToken]);
    if (r < tokens.size())
      EXPECT_EQ(std::memcmp(alone.logits.data(), &all.logits[r * kWidth], kWidth * 4), 0);
  }
}

} // namespace
