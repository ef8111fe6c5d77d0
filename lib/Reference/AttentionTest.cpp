//===- AttentionTest.cpp - Caches and attention ---------------------------===//
#include "strata/lib/Reference/TestStep.h"

#include <cmath>
#include <set>

using namespace strata;
using namespace strata::reference;

namespace {

/// The small model of these tests: token id t has four query heads of 3, two key heads of 3 and two
/// value heads of 2, all made from t. Attention has the scale 0.5.
constexpr int kHeads = 4, kKeyHeads = 2, kWidth = 3, kValueWidth = 2, kTokens = 24;
constexpr double kScale = 0.5;

double element(int token, int index) {
  return std::round(64 * std::sin(token * 7.3 + index * 1.9)) / 32;
}
double query(int token, int head, int i) { return element(token, head * kWidth + i); }
double key(int token, int head, int i) { return element(token, 20 + head * kWidth + i); }
double value(int token, int head, int i) { return element(token, 40 + head * kValueWidth + i); }

std::string table(int width, double (*get)(int, int, int), int heads) {
  std::vector<float> values;
  for (int token = 0; token < kTokens; ++token)
    for (int head = 0; head < heads; ++head)
      for (int i = 0; i < width; ++i)
        values.push_back(float(get(token, head, i)));
  return constantText({kTokens, heads * width}, values);
}

const std::string kCache = "!strata.cache<key 2x3xf32, value 2x2xf32, page = 4>";

/// Looks one of the tables up: %`name` of shape [?, heads, width].
std::string lookUp(const std::string &name, const std::string &table, int heads, int width) {
  std::string flat = "tensor<?x" + std::to_string(heads * width) + "xf32>";
  std::string whole = "tensor<24x" + std::to_string(heads * width) + "xf32>";
  std::string split = "tensor<?x" + std::to_string(heads) + "x" + std::to_string(width) + "xf32>";
  return "  %" + name + "_table = " + table + "\n  %" + name + "_flat = strata.embedding %ids, %" +
         name + "_table : (tensor<?xi32>, " + whole + ") -> " + flat + "\n  %" + name +
         " = tensor.expand_shape %" + name + "_flat [[0], [1, 2]] output_shape [%n, " +
         std::to_string(heads) + ", " + std::to_string(width) + "] : " + flat + " into " + split +
         "\n";
}

/// A step that appends to %kv1 and attends. `sources`: the op's operands, with types `types`;
/// `setup` goes before.
std::string attentionText(const std::string &sources, const std::string &types,
                          const std::string &setup = "", const std::string &sinks = "",
                          const std::string &sinkType = "") {
  return "(%batch: !strata.batch, %kv0: " + kCache + ") -> (tensor<?x4x2xf32>, " + kCache +
         ") {\n  %ids = strata.token_ids %batch : tensor<?xi32>\n  %zero = arith.constant 0 : "
         "index\n  %n = tensor.dim %ids, %zero : tensor<?xi32>\n" +
         lookUp("q", table(kWidth, query, kHeads), kHeads, kWidth) +
         lookUp("k", table(kWidth, key, kKeyHeads), kKeyHeads, kWidth) +
         lookUp("v", table(kValueWidth, value, kKeyHeads), kKeyHeads, kValueWidth) +
         "  %kv1 = strata.append %kv0[%batch], %k, %v : " + kCache +
         ", tensor<?x2x3xf32>, tensor<?x2x2xf32>\n" + setup + "  %o = strata.attention %q over (" +
         sources + ")[%batch]" + sinks + " {scale = 0.5} : (tensor<?x4x3xf32>, " + types +
         sinkType + ") -> tensor<?x4x2xf32>\n  return %o, %kv1 : tensor<?x4x2xf32>, " + kCache +
         "\n}";
}

/// Attention of a token over the tokens of a set, by the textbook.
std::vector<double> expectedRow(int token, const std::set<int> &keys,
                                const std::vector<double> &sinks = {}) {
  std::vector<double> result(kHeads * kValueWidth, 0.0);
  for (int head = 0; head < kHeads && !keys.empty(); ++head) {
    int keyHead = head / (kHeads / kKeyHeads);
    double denominator = sinks.empty() ? 0 : std::exp(sinks[head]);
    for (int s : keys) {
      double score = 0;
      for (int i = 0; i < kWidth; ++i)
        score += query(token, head, i) * key(s, keyHead, i);
      double weight = std::exp(kScale * score);
      denominator += weight;
      for (int i = 0; i < kValueWidth; ++i)
        result[head * kValueWidth + i] += weight * value(s, keyHead, i);
    }
    for (int i = 0; i < kValueWidth; ++i)
      result[head * kValueWidth + i] /= denominator;
  }
  return result;
}

/// Tokens [begin, end) of a sequence whose ids are their positions.
rt::StepInput identityTokens(int begin, int end) {
  rt::StepInput input = tokensAt(begin, end);
  input.tokenIds = input.positions;
  return input;
}

/// Expects row `row` of the result.
void expectRow(const Tensor &result, int row, const std::vector<double> &expected) {
  expectNear({result.row(row), result.row(row) + result.rowElements()}, expected, 1e-6);
}

std::set<int> range(int begin, int end) {
  std::set<int> keys;
  for (int s = std::max(begin, 0); s < end; ++s)
    keys.insert(s);
  return keys;
}

TEST(AttentionTest, all) {
  TestStep step(attentionText("%kv1 all", kCache));
  Tensor result = step.runOne(identityTokens(0, 9));
  for (int t = 0; t < 9; ++t)
    expectRow(result, t, expectedRow(t, range(0, t + 1)));
}

TEST(AttentionTest, windowAndFirstOverlapOnce) {
  TestStep step(attentionText("%kv1 window 4, %kv1 first 3, %kv1 window 2",
                              kCache + ", " + kCache + ", " + kCache));
  Tensor result = step.runOne(identityTokens(0, 12));
  for (int t = 0; t < 12; ++t) {
    std::set<int> keys = range(t - 3, t + 1), first = range(0, std::min(3, t + 1));
    keys.insert(first.begin(), first.end());
    expectRow(result, t, expectedRow(t, keys));
  }
}

TEST(AttentionTest, sameRecordsInTwoCachesCountTwice) {
  // Each key twice leaves the average as it is, but halves the weight of a sink.
  std::string type = kCache;
  std::string text = attentionText("%kv1 all, %other1 all", type + ", " + type,
                                   "  %other1 = strata.append %other0[%batch], %k, %v : " + type +
                                       ", tensor<?x2x3xf32>, tensor<?x2x2xf32>\n  %s = "
                                       "arith.constant dense<[0.0, 1.0, -1.0, 3.0]> : "
                                       "tensor<4xf32>\n",
                                   " sinks %s", ", tensor<4xf32>");
  text.replace(text.find(") -> ("), 1, ", %other0: " + type + ")");
  TestStep step(text);
  Tensor result = step.runOne(identityTokens(0, 3));
  double half = std::log(2.0);
  for (int t = 0; t < 3; ++t)
    expectRow(result, t, expectedRow(t, range(0, t + 1), {-half, 1 - half, -1 - half, 3 - half}));
}

/// A step whose rows are a constant [tokens, 4].
std::string rowsText(const std::string &rows, int tokens) {
  std::string type = "tensor<" + std::to_string(tokens) + "x4xi32>";
  return attentionText("%kv1 rows %r", kCache + ", " + type,
                       "  %r = arith.constant dense<" + rows + "> : " + type + "\n");
}

TEST(AttentionTest, row57MinusOneIsNoKey) {
  TestStep step(rowsText("[[-1, 2, -1, 0], [0, 2, -1, -1]]", 2));
  ASSERT_EQ(step.error, "");
  step.run(identityTokens(0, 2));
  step.run(identityTokens(2, 4));
  ASSERT_EQ(step.error, "");
  Tensor result = step.runOne(identityTokens(4, 6));
  expectRow(result, 0, expectedRow(4, {0, 2}));
  expectRow(result, 1, expectedRow(5, {0, 2}));
}

TEST(AttentionTest, rowsNotSeenAndDuplicatesDoNotCount) {
  TestStep step(rowsText("[[0, 0, 3, 0], [1, 1, 0, 7]]", 2));
  Tensor result = step.runOne(identityTokens(0, 2));
  expectRow(result, 0, expectedRow(0, {0}));
  expectRow(result, 1, expectedRow(1, {0, 1}));
}

TEST(AttentionTest, noKeysGiveZero) {
  TestStep step(rowsText("-1", 2));
  EXPECT_EQ(step.runOne(identityTokens(0, 2)).floats, std::vector<float>(16, 0.0f));
}

TEST(AttentionTest, windowBesideRows) {
  std::string type = "tensor<3x4xi32>";
  TestStep step(attentionText("%kv1 rows %r, %kv1 window 1", kCache + ", " + type + ", " + kCache,
                              "  %r = arith.constant dense<[[0, -1, -1, -1], [0, -1, -1, -1], [0, "
                              "1, 2, -1]]> : " +
                                  type + "\n"));
  Tensor result = step.runOne(identityTokens(0, 3));
  for (int t = 0; t < 3; ++t)
    expectRow(result, t, expectedRow(t, range(0, t + 1)));
}

TEST(AttentionTest, sinks) {
  TestStep step(attentionText("%kv1 window 3", kCache,
                              "  %s = arith.constant dense<[0.5, -2.0, 40.0, 0.0]> : "
                              "tensor<4xf32>\n",
                              " sinks %s", ", tensor<4xf32>"));
  Tensor result = step.runOne(identityTokens(0, 6));
  for (int t = 0; t < 6; ++t)
    expectRow(result, t, expectedRow(t, range(t - 2, t + 1), {0.5, -2, 40, 0}));
}

TEST(AttentionTest, largeScoresStayFinite) {
  std::string text = attentionText("%kv1 all", kCache);
  text.replace(text.find("scale = 0.5"), 11, "scale = 1.0e6");
  Tensor result = TestStep(text).runOne(identityTokens(0, 6));
  for (float number : result.floats)
    EXPECT_TRUE(std::isfinite(number));
}

TEST(AttentionTest, rows65And66RaggedChunksEqualEachAlone) {
  // Three sequences of 5, 1 and 12 tokens; the ids of a sequence start elsewhere.
  const int lengths[] = {5, 1, 12}, starts[] = {0, 6, 9};
  std::string text = attentionText("%kv1 window 7, %kv1 first 2", kCache + ", " + kCache);
  std::vector<std::vector<float>> alone;
  for (int sequence = 0; sequence < 3; ++sequence) {
    rt::StepInput input = tokensAt(0, lengths[sequence]);
    for (int i = 0; i < lengths[sequence]; ++i)
      input.tokenIds[i] = starts[sequence] + i;
    alone.push_back(TestStep(text).runOne(input).floats);
  }
  for (int chunk : {1, 4, 7}) {
    TestStep step(text);
    std::vector<std::vector<float>> together(3);
    for (int begin = 0; begin < 12; begin += chunk) {
      rt::StepInput input;
      std::vector<int> counts;
      for (int sequence : {2, 0, 1}) { // slots 1, 2, 3; some have no tokens any more
        int end = std::min(begin + chunk, lengths[sequence]);
        counts.push_back(std::max(0, end - begin));
        for (int i = begin; i < end; ++i) {
          input.tokenIds.push_back(starts[sequence] + i);
          input.positions.push_back(i);
          input.sequences.push_back(sequence + 1);
        }
      }
      Tensor result = step.runOne(input);
      auto next = result.floats.begin();
      for (int i : {0, 1, 2}) {
        int sequence = std::vector<int>{2, 0, 1}[i];
        together[sequence].insert(together[sequence].end(), next, next + 8 * counts[i]);
        next += 8 * counts[i];
      }
    }
    EXPECT_EQ(together, alone) << "chunks of " << chunk; // bit for bit
  }
}

TEST(CacheTest, slotIsTakenByAnotherSequence) {
  TestStep step(attentionText("%kv1 all", kCache));
  step.run(identityTokens(0, 9));
  rt::StepInput input = tokensAt(0, 3);
  input.tokenIds = {11, 5, 8};
  EXPECT_EQ(step.runOne(input).floats,
            TestStep(attentionText("%kv1 all", kCache)).runOne(input).floats);
  // What the first sequence had at positions 3 and on is gone.
  step.run(identityTokens(4, 5));
  EXPECT_NE(step.error.find("'strata.append' op token 0: expected a position up to 3, the length "
                            "of sequence 0, but got 4"),
            std::string::npos)
      << step.error;
}

TEST(CacheTest, readBeforeAppend) {
  TestStep step(attentionText("%kv0 all", kCache));
  step.run(identityTokens(0, 1));
  EXPECT_NE(step.error.find("'strata.attention' op uses a cache value after its append"),
            std::string::npos)
      << step.error;
  TestStep never(
      "(%batch: !strata.batch, %kv: !strata.cache<key 1xf32, value 1xf32, page = 4>) -> "
      "tensor<2x1x1xf32> {\n %q = arith.constant dense<1.0> : tensor<2x1x1xf32>\n %o = "
      "strata.attention %q over (%kv all)[%batch] {scale = 1.0} : (tensor<2x1x1xf32>, "
      "!strata.cache<key 1xf32, value 1xf32, page = 4>) -> tensor<2x1x1xf32>\n return %o "
      ": tensor<2x1x1xf32>\n}");
  never.run(identityTokens(0, 2));
  EXPECT_NE(never.error.find("token 0 at position 0 sees 1 records but the cache holds 0"),
            std::string::npos)
      << never.error;
}

TEST(CacheTest, badBatches) {
  TestStep step(attentionText("%kv1 all", kCache));
  rt::StepInput input = tokensAt(0, 2);
  input.sequences = {0, 4};
  step.run(input);
  EXPECT_EQ(step.error, "token 1: expected a sequence from 0 to 3 but got 4");
  input.sequences = {0, 0};
  input.positions = {0, 2};
  step.run(input);
  EXPECT_EQ(step.error, "token 1: expected the tokens of sequence 0 to follow each other");
  input.positions = {-1, 0};
  step.run(input);
  EXPECT_EQ(step.error, "token 0: expected a position of at least 0 but got -1");
  input.positions = {0};
  step.run(input);
  EXPECT_EQ(step.error, "expected positions and sequences for 2 tokens but got 1 and 2");
}

TEST(CacheTest, fieldsAreRoundedToTheirType) {
  for (auto [type, expected] : {std::pair("f32", 1.00390625f + 1.0f / 1024),
                                std::pair("bf16", 1.0078125f), std::pair("f16", 1.0048828125f)}) {
    std::string cache = std::string("!strata.cache<key 1xf32, value 1x") + type + ", page = 4>";
    TestStep step("(%batch: !strata.batch, %kv0: " + cache + ") -> (tensor<1x1x1xf32>, " + cache +
                  ") {\n %v = arith.constant dense<1.0048828125> : tensor<1x1xf32>\n %q = "
                  "arith.constant dense<1.0> : tensor<1x1x1xf32>\n %kv1 = strata.append "
                  "%kv0[%batch], %v, %v : " +
                  cache +
                  ", tensor<1x1xf32>, tensor<1x1xf32>\n %o = strata.attention %q over "
                  "(%kv1 all)[%batch] {scale = 1.0} : (tensor<1x1x1xf32>, " +
                  cache + ") -> tensor<1x1x1xf32>\n return %o, %kv1 : tensor<1x1x1xf32>, " + cache +
                  "\n}");
    EXPECT_EQ(step.runOne(identityTokens(0, 1)).floats, (std::vector<float>{expected})) << type;
  }
  mlir::MLIRContext context;
  EXPECT_EQ(roundTo(mlir::Float16Type::get(&context), 1.0f + 1.0f / 2048), 1.0f); // tie to even
  EXPECT_EQ(roundTo(mlir::Float16Type::get(&context), 1e-7f), 0x1p-23f);
  EXPECT_TRUE(std::isinf(roundTo(mlir::Float16Type::get(&context), 70000.0f)));
  EXPECT_TRUE(std::isnan(roundTo(mlir::BFloat16Type::get(&context), NAN)));
}

TEST(CacheTest, limits) {
  mlir::MLIRContext context;
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      parseInputModule("func.func @step" + attentionText("%kv1 all", kCache), context);
  ASSERT_TRUE(module.ok());
  rt::ExecutorOptions options;
  options.maxPages = 2;
  options.memoryLimit = 100; // 2 pages of 4 records of 10 elements: 320 bytes
  Expected<std::unique_ptr<Interpreter>> created = Interpreter::create(**module, nullptr, options);
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.status().message(),
            "expected a memory limit of at least 320 bytes for the caches but got 100");
}

} // namespace
