//===- IndexerTest.cpp - Index scores and the choice of rows --------------===//
#include "strata/lib/Reference/Choice.h"
#include "strata/lib/Reference/TestStep.h"

#include <cmath>

using namespace strata;
using namespace strata::reference;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<int32_t> best(const std::vector<float> &scores, int64_t k) {
  return chooseBest(scores, numbersBelow(int64_t(scores.size())), k);
}

TEST(ChoiceTest, tiesAndSpecialValues) {
  EXPECT_EQ(best({0, 1, 0, 1, 0}, 3), (std::vector<int32_t>{0, 1, 3}));
  EXPECT_EQ(best({-0.0f, 0.0f, -0.0f}, 2), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(best({kNan, -kInfinity, -5}, 2), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(best({-kInfinity, kNan, -5}, 1), (std::vector<int32_t>{2}));
  EXPECT_EQ(best({-1, -2, -3}, 2), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(best({1e-45f, 0, 3e-45f}, 1), (std::vector<int32_t>{2}));
  EXPECT_EQ(best({3, kInfinity, 4}, 5), (std::vector<int32_t>{0, 1, 2}));
}

TEST(ChoiceTest, row41ZeroPlateau) {
  std::vector<float> scores(5000, 0.0f);
  for (int position : {77, 3000, 4999})
    scores[position] = 1e-30f;
  std::vector<int32_t> expected;
  for (int32_t i = 0; i <= 60; ++i)
    expected.push_back(i);
  expected.insert(expected.end(), {77, 3000, 4999});
  EXPECT_EQ(best(scores, 64), expected);
}

TEST(ChoiceTest, row43EqualsSort) {
  uint32_t state = 1;
  auto random = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
  const float special[] = {0.0f, -0.0f, -kInfinity, kNan, 1e-45f, -1e-45f, 1, 1, -1, 2, kInfinity};
  for (int round = 0; round < 10000; ++round) {
    std::vector<float> scores(1 + random() % 40);
    for (float &score : scores)
      score = random() % 2 ? special[random() % std::size(special)] : float(random() % 7) - 3;
    int64_t k = 1 + random() % 20;
    std::vector<int32_t> order = numbersBelow(int64_t(scores.size()));
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      float x = std::isnan(scores[a]) ? -kInfinity : scores[a];
      float y = std::isnan(scores[b]) ? -kInfinity : scores[b];
      return x != y ? x > y : a < b;
    });
    order.resize(std::min<size_t>(k, order.size()));
    std::sort(order.begin(), order.end());
    ASSERT_EQ(best(scores, k), order);
  }
}

const std::string kCache = "!strata.cache<key 2xf32, page = 4>";

/// An indexer with one head pair: token id t has the query (1, q1[t]), the key keys[t], and the
/// head weights (1, −0.5); scale 0.5, k = 3. `select`: as one op, otherwise as two.
std::string indexerText(const std::vector<float> &queries, const std::vector<float> &keys,
                        bool select) {
  int64_t count = int64_t(keys.size()) / 2;
  std::string n = std::to_string(count);
  std::string text =
      "(%batch: !strata.batch, %c0: " + kCache + ") -> (tensor<?x3xi32>, " + kCache +
      ") {\n %ids = strata.token_ids %batch : tensor<?xi32>\n %zero = arith.constant 0 : index\n "
      "%n = tensor.dim %ids, %zero : tensor<?xi32>\n %qt = " +
      constantText({count, 4}, queries) + "\n %kt = " + constantText({count, 2}, keys) +
      "\n %ones = arith.constant dense<[[1.0, -0.5]]> : tensor<1x2xf32>\n %nul = strata.token_ids "
      "%batch : tensor<?xi32>\n %wt = arith.constant dense<[1.0, -0.5]> : tensor<2xf32>\n %qf = "
      "strata.embedding %ids, %qt : (tensor<?xi32>, tensor<" +
      n +
      "x4xf32>) -> tensor<?x4xf32>\n %q = tensor.expand_shape %qf [[0], [1, 2]] output_shape "
      "[%n, 2, 2] : tensor<?x4xf32> into tensor<?x2x2xf32>\n %k = strata.embedding %ids, %kt : "
      "(tensor<?xi32>, tensor<" +
      n +
      "x2xf32>) -> tensor<?x2xf32>\n %wz = arith.constant dense<0.0> : tensor<2x4xf32>\n %w = "
      "strata.linear %qf, %wz bias %wt : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> "
      "tensor<?x2xf32>\n %c1 = strata.append %c0[%batch], %k : " +
      kCache + ", tensor<?x2xf32>\n";
  if (select)
    text += " %rows = strata.select %q, %w, %c1[%batch] {k = 3, scale = 0.5} : (tensor<?x2x2xf32>, "
            "tensor<?x2xf32>, " +
            kCache + ") -> tensor<?x3xi32>\n";
  else
    text += " %s = strata.index_scores %q, %w, %c1[%batch] {scale = 0.5} : (tensor<?x2x2xf32>, "
            "tensor<?x2xf32>, " +
            kCache +
            ") -> tensor<?x?xf32>\n %rows = strata.top_k %s[%batch] {k = 3} : "
            "tensor<?x?xf32> -> tensor<?x3xi32>\n";
  return text + " return %rows, %c1 : tensor<?x3xi32>, " + kCache + "\n}";
}

/// Query and key of an id: small integers, so that ties are exact.
float number(int id, int i) { return float((id * 5 + i * 3) % 7 - 3); }

std::vector<float> numbers(int ids, int width, int offset) {
  std::vector<float> values;
  for (int id = 0; id < ids; ++id)
    for (int i = 0; i < width; ++i)
      values.push_back(number(id, i + offset));
  return values;
}

rt::StepInput identityTokens(int begin, int end) {
  rt::StepInput input = tokensAt(begin, end);
  input.tokenIds = input.positions;
  return input;
}

TEST(IndexerTest, scoresAndRowsFollowTheFormula) {
  constexpr int kIds = 20;
  for (bool select : {true, false}) {
    TestStep step(indexerText(numbers(kIds, 4, 0), numbers(kIds, 2, 4), select));
    std::vector<std::vector<float>> observed(kIds);
    Observer observer;
    observer.rows = [&](int indexer, int token, llvm::ArrayRef<float> scores,
                        llvm::ArrayRef<int32_t> rows) {
      EXPECT_EQ(indexer, 0);
      EXPECT_EQ(rows.size(), 3u);
      observed[token] = scores.vec();
    };
    step.interpreter->setObserver(observer);
    std::vector<int32_t> exported(kIds * 3);
    step.output.rows = {exported.data()};
    Tensor rows = step.runOne(identityTokens(0, kIds));
    EXPECT_EQ(rows.integers, exported);
    for (int t = 0; t < kIds; ++t) {
      std::vector<float> scores;
      for (int s = 0; s <= t; ++s) {
        double heads[2] = {};
        for (int h = 0; h < 2; ++h)
          for (int i = 0; i < 2; ++i)
            heads[h] += number(t, 2 * h + i) * number(s, 4 + i);
        scores.push_back(0.5 * (std::max(heads[0], 0.0) - 0.5 * std::max(heads[1], 0.0)));
      }
      if (t >= 3) { // with up to k positions there is nothing to choose
        EXPECT_EQ(observed[t], scores);
      }
      std::vector<int32_t> expected = best(scores, 3);
      expected.resize(3, -1);
      EXPECT_EQ(
          std::vector<int32_t>(rows.integers.begin() + 3 * t, rows.integers.begin() + 3 * t + 3),
          expected);
    }
  }
}

TEST(IndexerTest, scoresOfPositionsNotSeenAreMinusInfinity) {
  std::string text = indexerText(numbers(6, 4, 0), numbers(6, 2, 4), false);
  for (auto [from, to] : {std::pair(") -> (tensor<?x3xi32>", ") -> (tensor<?x?xf32>"),
                          std::pair("return %rows", "return %s"),
                          std::pair(": tensor<?x3xi32>, ", ": tensor<?x?xf32>, ")})
    text.replace(text.rfind(from), std::strlen(from), to);
  TestStep step(text);
  rt::StepInput input;
  addTokens(input, 0, 0, 2);
  addTokens(input, 1, 0, 4);
  Tensor scores = step.runOne(input);
  ASSERT_EQ(scores.shape, (Shape{6, 4})); // as wide as the longest sequence
  for (int token = 0; token < 6; ++token)
    for (int position = 0; position < 4; ++position)
      EXPECT_EQ(std::isinf(scores.row(token)[position]), position > input.positions[token]);
}

TEST(IndexerTest, row36LengthsAroundK) {
  for (int length : {1, 2, 3, 4}) {
    TestStep step(indexerText(numbers(4, 4, 0), numbers(4, 2, 4), true));
    Tensor rows = step.runOne(identityTokens(0, length));
    for (int t = 0; t < std::min(length, 3); ++t)
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(rows.integers[3 * t + i], i <= t ? i : -1);
  }
}

TEST(IndexerTest, row66ChunksEqualOneShot) {
  std::string text = indexerText(numbers(20, 4, 0), numbers(20, 2, 4), true);
  std::vector<int32_t> whole = TestStep(text).runOne(identityTokens(0, 20)).integers;
  for (int first : {7, 1, 19}) {
    TestStep step(text);
    std::vector<int32_t> parts = step.runOne(identityTokens(0, first)).integers;
    Tensor rest = step.runOne(identityTokens(first, 20));
    parts.insert(parts.end(), rest.integers.begin(), rest.integers.end());
    EXPECT_EQ(parts, whole);
  }
}

TEST(IndexerTest, nanKeyCountsAsMinusInfinityAndIsReported) {
  std::vector<float> keys = numbers(6, 2, 4);
  keys[2 * 1] = kNan;
  for (bool select : {true, false}) {
    TestStep step(indexerText(numbers(6, 4, 0), keys, select));
    Tensor rows = step.runOne(identityTokens(0, 6));
    for (int t = 3; t < 6; ++t)
      for (int i = 0; i < 3; ++i)
        EXPECT_NE(rows.integers[3 * t + i], 1);
    // Tokens 3, 4 and 5 score it; the others see no more than k positions.
    EXPECT_EQ(step.output.nanScores, 3);
  }
}

TEST(IndexerTest, importedRowsReplace) {
  TestStep step(indexerText(numbers(6, 4, 0), numbers(6, 2, 4), true));
  rt::StepInput input = identityTokens(0, 6);
  std::vector<int32_t> imported(18, -1);
  imported[15] = 2;
  input.importedRows = {imported.data()};
  EXPECT_EQ(step.runOne(input).integers, imported);
  for (auto [entry, wrong] : {std::pair(3, 2), std::pair(16, 2), std::pair(17, 0)}) {
    std::vector<int32_t> bad = imported; // not yet visible, twice the same, after −1
    bad[entry] = wrong;
    input.importedRows = {bad.data()};
    step.run(input);
    EXPECT_NE(step.error.find("token " + std::to_string(entry / 3) +
                              ": expected imported rows to "
                              "be ascending positions below"),
              std::string::npos)
        << step.error;
  }
  input.importedRows = {imported.data(), imported.data()};
  step.run(input);
  EXPECT_EQ(step.error, "expected 1 arrays of imported rows but got 2");
}

} // namespace
