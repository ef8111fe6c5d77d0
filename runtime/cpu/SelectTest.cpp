//===- SelectTest.cpp -----------------------------------------------------===//
#include "strata/runtime/cpu/TestModel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace strata;
using namespace strata::rt;

namespace {

constexpr int64_t kWidth = 32;

/// Token id n has score scores[n], wherever it stands and whoever looks.
struct SelectModel {
  std::vector<float> scores;
  int64_t k;
  TestModel model;

  SelectModel(std::vector<float> tokenScores, int64_t k)
      : scores(std::move(tokenScores)), k(k), model(int64_t(scores.size())) {
    using package::StepArray;
    std::vector<float> table(scores.size() * kWidth, 1.0f);
    for (size_t n = 0; n < scores.size(); ++n)
      table[n * kWidth + 1] = scores[n];
    int32_t hidden = model.gatherTable(table);
    model.launch("append",
                 {TestModel::slotArgument(hidden), TestModel::stepArgument(StepArray::Positions),
                  TestModel::stepArgument(StepArray::PageBegin),
                  TestModel::stepArgument(StepArray::Pages), TestModel::cacheArgument()});
    model.select(hidden, hidden, model.slot(4 * k), k);
  }

  std::unique_ptr<Executor> executor(int64_t maxTokens, int threads = 2) {
    ExecutorOptions options;
    options.maxTokens = maxTokens;
    options.maxPages = int64_t(scores.size()) / 2 + 4;
    options.maxSequences = 4;
    options.threads = threads;
    options.poison = true;
    Expected<std::unique_ptr<Executor>> executor = model.finish(options);
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    return std::move(*executor);
  }

  /// The row of a token at `position` when token n stands at position n.
  std::vector<int32_t> expectedRow(int64_t position) const {
    std::vector<int32_t> order(static_cast<size_t>(position + 1));
    std::iota(order.begin(), order.end(), 0);
    auto value = [&](int32_t n) {
      return std::isnan(scores[size_t(n)]) ? -INFINITY : scores[size_t(n)];
    };
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return value(a) != value(b) ? value(a) > value(b) : a < b;
    });
    order.resize(std::min<size_t>(order.size(), size_t(k)));
    std::sort(order.begin(), order.end());
    order.resize(size_t(k), -1);
    return order;
  }
};

std::vector<int32_t> ascendingTokens(int64_t first, int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), int32_t(first));
  return tokens;
}

/// Rows of one step with tokens [first, first + count) at their own positions.
std::vector<int32_t> stepRows(Executor &executor, int64_t k, int64_t first, int64_t count,
                              int64_t *nanScores = nullptr) {
  StepInput input = oneSequence(ascendingTokens(first, count), int32_t(first));
  input.wanted = {};
  std::vector<int32_t> rows(size_t(count * k), -7);
  StepOutput output;
  output.rows = {rows.data()};
  Status status = executor.step(input, output);
  EXPECT_TRUE(status.ok()) << status.message();
  if (nanScores)
    *nanScores = output.nanScores;
  return rows;
}

std::vector<int32_t> rowAt(const std::vector<int32_t> &rows, int64_t k, int64_t token) {
  return {rows.begin() + token * k, rows.begin() + (token + 1) * k};
}

std::vector<float> coarseScores(size_t count, uint32_t seed) {
  std::vector<float> scores = randomValues(count, seed);
  for (float &score : scores)
    score = std::round(score * 2); // many ties, both zeros
  return scores;
}

// Row 36: every length up to k and beyond.
TEST(Select, Row36ShortRowsAreFilledWithoutScores) {
  SelectModel model(std::vector<float>(64, NAN), 8);
  std::unique_ptr<Executor> executor = model.executor(64);
  int64_t nanScores = -1;
  std::vector<int32_t> rows = stepRows(*executor, 8, 0, 8, &nanScores);
  EXPECT_EQ(nanScores, 0);
  for (int64_t n = 0; n < 8; ++n)
    EXPECT_EQ(rowAt(rows, 8, n), model.expectedRow(n));
  stepRows(*executor, 8, 8, 1, &nanScores);
  EXPECT_EQ(nanScores, 9);
}

// Rows 39, 45 and 66: at once, in chunks, token by token, with any number of threads.
TEST(Select, Row66ChunksAndThreadsGiveTheSameRows) {
  constexpr int64_t kTokens = 300, kK = 16;
  SelectModel model(coarseScores(kTokens, 66), kK);
  for (int threads : {1, 2, 5})
    for (int64_t chunk : {1, 7, 13, 64, 300}) {
      std::unique_ptr<Executor> executor = model.executor(chunk, threads);
      for (int64_t first = 0; first < kTokens; first += chunk) {
        int64_t count = std::min(chunk, kTokens - first);
        std::vector<int32_t> rows = stepRows(*executor, kK, first, count);
        for (int64_t n = 0; n < count; ++n)
          ASSERT_EQ(rowAt(rows, kK, n), model.expectedRow(first + n))
              << threads << " threads, chunk " << chunk << ", token " << first + n;
      }
    }
}

// Row 41 through the executor, with a length that is split among threads.
TEST(Select, Row41ZeroPlateauOfALongRow) {
  std::vector<float> scores(5000, 0.0f);
  for (size_t n = 1; n < scores.size(); n += 2)
    scores[n] = -0.0f;
  scores[1000] = scores[3000] = scores[4998] = 1;
  SelectModel model(scores, 64);
  for (int threads : {1, 2, 3, 8}) {
    std::unique_ptr<Executor> executor = model.executor(4999, threads);
    stepRows(*executor, 64, 0, 4999);
    EXPECT_EQ(stepRows(*executor, 64, 4999, 1), model.expectedRow(4999)) << threads << " threads";
  }
}

TEST(Select, RowsWithoutAnyNumberAreTheFirstPositions) {
  for (float value : {float(NAN), -INFINITY}) {
    SelectModel model(std::vector<float>(400, value), 10);
    std::unique_ptr<Executor> executor = model.executor(400, 4);
    stepRows(*executor, 10, 0, 399);
    int64_t nanScores = 0;
    EXPECT_EQ(stepRows(*executor, 10, 399, 1, &nanScores), model.expectedRow(399));
    EXPECT_EQ(nanScores, std::isnan(value) ? 400 : 0);
  }
}

// Rows 55 and 65: sequences of different lengths, one of them without tokens.
TEST(Select, Row65RaggedSequencesEqualSingleOnes) {
  SelectModel model(coarseScores(120, 65), 6);
  std::unique_ptr<Executor> executor = model.executor(200);
  StepInput input;
  int64_t lengths[] = {5, 0, 120, 30};
  for (int32_t sequence = 0; sequence < 4; ++sequence) {
    int32_t pageBegin = int32_t(input.pages.size());
    for (int32_t n = 0; n < lengths[sequence]; ++n) {
      input.tokenIds.push_back(n);
      input.positions.push_back(n);
      input.sequences.push_back(sequence);
      input.pageBegin.push_back(pageBegin);
    }
    for (int32_t page = 0; page < (lengths[sequence] + 3) / 4; ++page)
      input.pages.push_back(int32_t(input.pages.size()));
  }
  size_t tokens = input.tokenIds.size();
  std::vector<int32_t> rows(tokens * 6);
  StepOutput output;
  output.rows = {rows.data()};
  Status status = executor->step(input, output);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t n = 0; n < tokens; ++n)
    EXPECT_EQ(rowAt(rows, 6, int64_t(n)), model.expectedRow(input.positions[n]));
}

// Row 78: own rows given back change nothing; others are taken as they are.
TEST(Select, Row78ImportedRowsReplaceTheChoice) {
  SelectModel model(coarseScores(20, 78), 4);
  std::unique_ptr<Executor> executor = model.executor(20);
  std::vector<int32_t> imported(20 * 4, -1), rows(20 * 4);
  for (int32_t n = 0; n < 20; ++n)
    imported[size_t(n) * 4] = n;
  StepInput input = oneSequence(ascendingTokens(0, 20));
  input.wanted = {};
  input.importedRows = {imported.data()};
  StepOutput output;
  output.rows = {rows.data()};
  ASSERT_TRUE(executor->step(input, output).ok());
  EXPECT_EQ(rows, imported);
}

TEST(Select, ImportedRowsThatCannotBeAreRefused) {
  SelectModel model(coarseScores(20, 79), 3);
  std::unique_ptr<Executor> executor = model.executor(20);
  for (const std::vector<int32_t> &row : {std::vector<int32_t>{0, 1, 2},
                                          {1, 0, -1},
                                          {0, 0, -1},
                                          {-1, 0, -1},
                                          {-2, -1, -1},
                                          {0, -2, -1}}) {
    StepInput input = oneSequence({0, 1});
    input.wanted = {};
    std::vector<int32_t> imported = {0, -1, -1};
    imported.insert(imported.end(), row.begin(), row.end());
    input.importedRows = {imported.data()};
    StepOutput output;
    Status status = executor->step(input, output);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find("imported rows of indexer 0, token 1"), std::string::npos)
        << status.message();
  }
}

} // namespace
