//===- SequenceRowsTest.cpp - Lengths, steps, chunks and batches ----------===//
#include "Harness.h"

#include <numeric>

using namespace strata;
using namespace strata::rows;

namespace {

/// Page size of all models here.
constexpr int32_t kPage = 4;
/// Pages of each sequence in a step that a test makes by hand.
constexpr int32_t kPages = 16;

std::vector<int32_t> consecutivePages(int32_t sequence) {
  std::vector<int32_t> pages(kPages);
  std::iota(pages.begin(), pages.end(), sequence * kPages);
  return pages;
}

rt::ExecutorOptions handLimits(int64_t sequences = 3) {
  rt::ExecutorOptions limits;
  limits.maxSequences = sequences;
  limits.maxPages = sequences * kPages;
  limits.maxTokens = limits.maxWanted = kPages * kPage;
  limits.threads = 2;
  limits.poison = true;
  return limits;
}

std::vector<int32_t> slice(const std::vector<int32_t> &tokens, int64_t begin, int64_t end) {
  return {tokens.begin() + begin, tokens.begin() + end};
}

/// Results of two steps, one after the other, as if they were one.
StepResult joined(const StepResult &a, const StepResult &b) {
  StepResult result = a;
  result.logits.insert(result.logits.end(), b.logits.begin(), b.logits.end());
  for (size_t i = 0; i < result.rows.size(); ++i)
    result.rows[i].insert(result.rows[i].end(), b.rows[i].begin(), b.rows[i].end());
  return result;
}

void expectSame(const StepResult &found, const StepResult &expected) {
  EXPECT_TRUE(found.status.ok()) << found.status.message();
  EXPECT_TRUE(expected.status.ok()) << expected.status.message();
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.logits, expected.logits); // a NaN equals nothing
}

class Devices : public testing::TestWithParam<Device> {
protected:
  RunOptions options() const {
    RunOptions options;
    options.device = GetParam();
    return options;
  }
  static void SetUpTestSuite() { model = Model::create(glmConfig()).release(); }
  static void TearDownTestSuite() { delete model; }

  static inline Model *model = nullptr;
};

INSTANTIATE_TEST_SUITE_P(DomainRows, Devices, testing::Values(Device::Cpu, Device::Reference),
                         [](const testing::TestParamInfo<Device> &info) {
                           return info.param == Device::Cpu ? "Cpu" : "Reference";
                         });

TEST_P(Devices, Row36LengthsAroundK) {
  for (int64_t length : {1, 2, 7, 8, 9}) {
    RunOptions runOptions = options();
    runOptions.shortIsMeant = length <= 8;
    rt::Generation found = run(*model, {makePrompt(length, 36)}, runOptions)[0];
    for (int64_t indexer = 0; indexer < 4; ++indexer)
      for (int64_t token = 0; token < std::min<int64_t>(length, 8); ++token) {
        std::vector<int32_t> row(8, -1);
        std::iota(row.begin(), row.begin() + token + 1, 0);
        EXPECT_EQ(rowOf(found, indexer, token), row) << "length " << length << ", token " << token;
      }
    if (length == 9) {
      std::vector<int32_t> row = rowOf(found, 0, 8);
      EXPECT_GE(row.front(), 0); // one of nine is left out
      EXPECT_TRUE(std::is_sorted(row.begin(), row.end()));
    }
  }
}

// The index keys of tokens whose selection needed no scores are there when they are needed.
TEST_P(Devices, Row39ShortPromptThenDecodingEqualsOneShot) {
  RunOptions runOptions = options();
  runOptions.newTokens = 15;
  std::vector<int32_t> prompt = makePrompt(6, 39);
  rt::Generation decoded = run(*model, {prompt}, runOptions)[0];
  ASSERT_EQ(decoded.processed, 20);
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), decoded.tokens.begin(), decoded.tokens.end() - 1);
  rt::Generation atOnce = run(*model, {all}, options())[0];
  EXPECT_EQ(atOnce.tokens.front(), decoded.tokens.back());
  EXPECT_EQ(atOnce.rows, decoded.rows);
  EXPECT_EQ(atOnce.logits, decoded.logits);
}

// One executor, steps of other lengths: nothing of an earlier one is left.
TEST_P(Devices, Row54LengthsAreInputsOfAStep) {
  Prompts prompts = {makePrompt(9, 1), makePrompt(17, 2), makePrompt(5, 3), makePrompt(12, 4)};
  RunOptions runOptions = options();
  runOptions.shortIsMeant = true; // one of the four
  Runner runner(*model, {makePrompt(17)}, runOptions);
  for (const std::vector<int32_t> &prompt : prompts)
    expectSameBits(runner.run({prompt})[0], run(*model, {prompt}, runOptions)[0]);
}

TEST_P(Devices, Row55SequencesWithoutTokensTakeNoPart) {
  for (auto [first, third] : {std::pair(5, 3), std::pair(12, 10)}) {
    std::unique_ptr<rt::Executor> executor = model->executor(GetParam(), handLimits());
    StepResult batch = runStep(
        *executor, {{0, 0, makePrompt(first, 55)}, {1, 0, {}}, {2, 0, makePrompt(third, 56)}},
        consecutivePages);
    std::unique_ptr<rt::Executor> alone = model->executor(GetParam(), handLimits());
    StepResult one = runStep(*alone, {{0, 0, makePrompt(first, 55)}}, consecutivePages);
    StepResult other = runStep(*alone, {{2, 0, makePrompt(third, 56)}}, consecutivePages);
    expectSame(batch, joined(one, other));
  }
  std::unique_ptr<rt::Executor> executor = model->executor(GetParam(), handLimits());
  EXPECT_TRUE(runStep(*executor, {{0, 0, {}}, {1, 0, {}}}, consecutivePages).status.ok());
  EXPECT_TRUE(runStep(*executor, {}, consecutivePages).status.ok());
}

TEST_P(Devices, Row65RaggedBatchesInChunksEqualSingleRuns) {
  for (const std::vector<int64_t> &lengths : {std::vector<int64_t>{5, 1, 12}, {13, 20, 9, 1}}) {
    Prompts prompts;
    for (int64_t length : lengths)
      prompts.push_back(makePrompt(length, uint64_t(65 + length)));
    RunOptions runOptions = options();
    runOptions.chunk = 4;
    runOptions.newTokens = 6;
    std::vector<rt::Generation> batch = run(*model, prompts, runOptions);
    runOptions.chunk = 256;
    runOptions.shortIsMeant = true; // of some prompts alone
    for (size_t i = 0; i < prompts.size(); ++i)
      expectSameBits(batch[i], run(*model, {prompts[i]}, runOptions)[0]);
  }
}

/// `tokens` in one step, and in two that meet at `split`.
void expectSplitChangesNothing(Model &model, Device device, const std::vector<int32_t> &tokens,
                               int64_t split) {
  std::unique_ptr<rt::Executor> whole = model.executor(device, handLimits());
  StepResult expected = runStep(*whole, {{0, 0, tokens}}, consecutivePages);
  std::unique_ptr<rt::Executor> parts = model.executor(device, handLimits());
  StepResult first = runStep(*parts, {{0, 0, slice(tokens, 0, split)}}, consecutivePages);
  StepResult second =
      runStep(*parts, {{0, int32_t(split), slice(tokens, split, int64_t(tokens.size()))}},
              consecutivePages);
  expectSame(joined(first, second), expected);
}

TEST_P(Devices, Row66ChunksSeeWhatCameBefore) {
  for (int64_t split : {7, 1, 19, 8, 4})
    expectSplitChangesNothing(*model, GetParam(), makePrompt(20, 66), split);
}

// The index keys of the first step are still there after a second one with many tokens.
TEST_P(Devices, Row69StepsWithManyTokensKeepTheIndexKeys) {
  std::vector<int32_t> tokens = makePrompt(20, 69);
  expectSplitChangesNothing(*model, GetParam(), tokens, 7);
  rt::Generation found = run(*model, {tokens}, options())[0];
  int old = 0;
  for (int64_t token = 8; token < 20; ++token)
    for (int32_t position : rowOf(found, 0, token))
      old += position < 7;
  EXPECT_GT(old, 0); // the second step does select what the first one wrote
}

// Where pages lie in the pool is nobody's business: rows are logical positions.
TEST_P(Devices, Row68PagesInAnyOrderGiveTheSameRows) {
  auto scattered = [](int32_t sequence) {
    std::vector<int32_t> pages = consecutivePages(sequence);
    for (int32_t i = 0; i < kPages; ++i)
      pages[size_t(i)] = (i * 11 + 5) % kPages + sequence * kPages;
    return pages;
  };
  std::vector<Piece> pieces = {{0, 0, makePrompt(30, 68)}, {1, 0, makePrompt(21, 86)}};
  StepResult expected =
      runStep(*model->executor(GetParam(), handLimits()), pieces, consecutivePages);
  expectSame(runStep(*model->executor(GetParam(), handLimits()), pieces, scattered), expected);
}

// The rows that a token gets are its own, in whatever company it comes.
TEST_P(Devices, Row78OwnRowsFedBackGiveTheSameBits) {
  std::vector<int32_t> prompt = makePrompt(30, 78);
  std::unique_ptr<rt::Executor> executor = model->executor(GetParam(), handLimits());
  StepResult own = runStep(*executor, {{0, 0, prompt}}, consecutivePages);
  std::unique_ptr<rt::Executor> again = model->executor(GetParam(), handLimits());
  expectSame(runStep(*again, {{0, 0, prompt}}, consecutivePages, own.rows), own);

  // They are what is attended to: with other rows the output is another, from that token on.
  std::vector<std::vector<int32_t>> other = own.rows;
  size_t k = size_t(model->description().rowWidths[0]);
  std::iota(other[0].end() - int64_t(k), other[0].end(), 0);
  ASSERT_NE(other[0], own.rows[0]);
  std::unique_ptr<rt::Executor> third = model->executor(GetParam(), handLimits());
  StepResult changed = runStep(*third, {{0, 0, prompt}}, consecutivePages, other);
  ASSERT_TRUE(changed.status.ok()) << changed.status.message();
  int64_t vocabulary = model->description().vocabularySize;
  EXPECT_TRUE(
      std::equal(own.logits.begin(), own.logits.end() - vocabulary, changed.logits.begin()));
  EXPECT_FALSE(std::equal(own.logits.end() - vocabulary, own.logits.end(),
                          changed.logits.end() - vocabulary));
}

TEST_P(Devices, Row45RowsDoNotDependOnTheBatch) {
  std::vector<int32_t> prompt = makePrompt(24, 45);
  rt::Generation expected = run(*model, {prompt}, options())[0];
  for (int round = 0; round < 20; ++round) {
    size_t batch = std::vector<size_t>{1, 7, 64}[size_t(round % 3)];
    if (GetParam() == Device::Reference && (batch == 64 || round > 4))
      continue; // slow, and one implementation's promise is enough in large batches
    Prompts prompts;
    for (size_t i = 0; i < batch; ++i)
      prompts.push_back(makePrompt(9 + int64_t(i) % 17, 1000 * uint64_t(round) + i));
    size_t place = size_t(round) % batch;
    prompts[place] = prompt;
    RunOptions runOptions = options();
    runOptions.threads = 1 + round % 4;
    runOptions.chunk = 16 << round % 5;
    runOptions.tiesAreMeant = true; // the company may have some
    expectSameBits(run(*model, prompts, runOptions)[place], expected);
  }
}

} // namespace
