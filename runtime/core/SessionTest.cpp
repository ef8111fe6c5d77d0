//===- SessionTest.cpp - Chunks, ragged batches, limits, imports ----------===//
#include "strata/runtime/core/Session.h"

#include "strata/runtime/core/FakeExecutor.h"
#include "strata/runtime/core/Greedy.h"
#include "strata/runtime/core/Trace.h"

#include <cmath>

namespace strata::rt {
namespace {

ModelDescription testModel() {
  ModelDescription model;
  model.modelType = "fake";
  model.vocabularySize = 50;
  model.maxPositions = 100;
  model.pageSize = 4;
  model.rowWidths = {3, 2};
  model.expertWidths = {2};
  model.expertCounts = {8};
  return model;
}

std::vector<int32_t> promptOf(int64_t length, int32_t first = 1) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < length; ++i)
    tokens.push_back(int32_t((first + 7 * i) % 50));
  return tokens;
}

/// What the fake model says, without steps, pages and batches.
std::vector<int32_t> expectedTokens(std::vector<int32_t> tokens, int64_t count) {
  std::vector<int32_t> result;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<float> logits = FakeExecutor::logitsOf(tokens, 50);
    result.push_back(greedyToken(logits.data(), 50));
    tokens.push_back(result.back());
  }
  return result;
}

/// A session of given prompts that ran to its end.
struct TestRun {
  TestRun(const std::vector<std::vector<int32_t>> &prompts, SessionOptions options,
          ModelDescription model = testModel(), Trace *trace = nullptr) {
    std::vector<int64_t> lengths;
    for (const std::vector<int32_t> &prompt : prompts)
      lengths.push_back(int64_t(prompt.size()));
    limits.trace = trace;
    EXPECT_TRUE(planExecutor(model, options, lengths, limits).ok());
    executor = std::make_unique<FakeExecutor>(model, limits);
    session = std::make_unique<Session>(*executor, limits, options);
    for (const std::vector<int32_t> &prompt : prompts)
      EXPECT_TRUE(session->addPrompt({prompt, {}, {}}).ok());
  }
  TestRun &finish() {
    while (!session->finished()) {
      Status status = session->step();
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok())
        break;
    }
    return *this;
  }
  std::vector<int64_t> stepSizes() const {
    std::vector<int64_t> sizes;
    for (const StepInput &step : executor->steps)
      sizes.push_back(int64_t(step.tokenIds.size()));
    return sizes;
  }
  const Generation &generation(int64_t prompt = 0) const { return session->generation(prompt); }

  ExecutorOptions limits;
  std::unique_ptr<FakeExecutor> executor;
  std::unique_ptr<Session> session;
};

SessionOptions optionsWith(int64_t chunk, int64_t newTokens) {
  SessionOptions options;
  options.chunk = chunk;
  options.maxNewTokens = newTokens;
  return options;
}

TEST(Greedy, TiesGoToTheSmallerIdAndNaNNeverWins) {
  float nan = std::nanf("");
  std::vector<float> logits{nan, 1, 3, -INFINITY, 3, nan};
  EXPECT_EQ(greedyToken(logits.data(), 6), 2);
  logits = {nan, -INFINITY, -INFINITY};
  EXPECT_EQ(greedyToken(logits.data(), 3), 1);
  logits = {nan, nan};
  EXPECT_EQ(greedyToken(logits.data(), 2), -1);
  logits = {-0.0f, 0.0f};
  EXPECT_EQ(greedyToken(logits.data(), 2), 0);
}

TEST(Session, ChunksDoNotChangeTheResult) {
  std::vector<int32_t> prompt = promptOf(20), expected = expectedTokens(prompt, 6);
  for (int64_t chunk : {1, 2, 3, 4, 7, 13, 19, 20, 21, 1000}) {
    TestRun run({prompt}, optionsWith(chunk, 6));
    EXPECT_EQ(run.finish().generation().tokens, expected) << "chunk " << chunk;
    EXPECT_EQ(run.generation().processed, 25);
    EXPECT_EQ(run.generation().finish, FinishReason::NewTokenLimit);
  }
  EXPECT_EQ(TestRun({prompt}, optionsWith(7, 3)).finish().stepSizes(),
            (std::vector<int64_t>{7, 7, 6, 1, 1}));
  EXPECT_EQ(TestRun({prompt}, optionsWith(13, 1)).finish().stepSizes(),
            (std::vector<int64_t>{13, 7}));
  EXPECT_EQ(TestRun({prompt}, optionsWith(19, 2)).finish().stepSizes(),
            (std::vector<int64_t>{19, 1, 1}));
}

TEST(Session, LogitsAreComputedForLastTokensAlone) {
  TestRun run({promptOf(20)}, optionsWith(7, 2));
  run.finish();
  ASSERT_EQ(run.executor->steps.size(), 4u);
  EXPECT_TRUE(run.executor->steps[0].wanted.empty());
  EXPECT_TRUE(run.executor->steps[1].wanted.empty());
  EXPECT_EQ(run.executor->steps[2].wanted, std::vector<int32_t>{5});
  EXPECT_EQ(run.executor->steps[3].wanted, std::vector<int32_t>{0});
  EXPECT_TRUE(run.generation().logits.empty());
}

TEST(Session, RaggedBatchEqualsSingleRuns) {
  std::vector<std::vector<int32_t>> prompts{promptOf(5), promptOf(1, 9), promptOf(12, 3),
                                            promptOf(5)};
  for (int64_t chunk : {1, 3, 4, 6, 23, 100}) {
    TestRun run(prompts, optionsWith(chunk, 7));
    run.finish();
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(run.generation(int64_t(i)).tokens, expectedTokens(prompts[i], 7))
          << "prompt " << i << ", chunk " << chunk;
  }
}

TEST(Session, DecodeIsNotHeldUpByALongPrompt) {
  TestRun run({promptOf(2), promptOf(12)}, optionsWith(4, 3));
  run.finish();
  // 2 + 2, then the first sequence decodes beside the rest of the second's prompt.
  EXPECT_EQ(run.stepSizes(), (std::vector<int64_t>{4, 4, 4, 4, 1, 1}));
  EXPECT_EQ(run.executor->steps[1].sequences, (std::vector<int32_t>{0, 1, 1, 1}));
  EXPECT_EQ(run.executor->steps[1].positions, (std::vector<int32_t>{2, 2, 3, 4}));
}

TEST(Session, PagesFollowTheTokens) {
  // One token more than a page: a second page from the fifth token on.
  TestRun run({promptOf(4)}, optionsWith(100, 2));
  run.finish();
  EXPECT_EQ(run.limits.maxPages, 2);
  EXPECT_EQ(run.executor->steps[0].pages, std::vector<int32_t>{0});
  EXPECT_EQ(run.executor->steps[1].pages, (std::vector<int32_t>{0, 1}));
}

TEST(Session, PagesOfSequencesAreTheirOwn) {
  TestRun run({promptOf(3), promptOf(3, 2)}, optionsWith(100, 4));
  run.finish();
  const StepInput &last = run.executor->steps.back();
  EXPECT_EQ(last.pages, (std::vector<int32_t>{0, 2, 1, 3}));
  EXPECT_EQ(last.pageBegin, (std::vector<int32_t>{0, 2}));
}

TEST(Session, FinishedSequencesGiveTheirRoomBack) {
  SessionOptions options = optionsWith(100, 3);
  TestRun run({promptOf(6)}, options);
  run.finish();
  for (int32_t first : {5, 11}) {
    Expected<int64_t> number = run.session->addPrompt({promptOf(6, first), {}, {}});
    ASSERT_TRUE(number.ok()) << number.status().message();
    run.finish();
    EXPECT_EQ(run.generation(*number).tokens, expectedTokens(promptOf(6, first), 3));
  }
}

TEST(Session, StopsAfterAnEosToken) {
  std::vector<int32_t> expected = expectedTokens(promptOf(5), 6);
  ModelDescription model = testModel();
  model.eosTokenIds = {49, expected[2]};
  TestRun run({promptOf(5)}, optionsWith(100, 6), model);
  run.finish();
  EXPECT_EQ(run.generation().tokens, std::vector<int32_t>(expected.begin(), expected.begin() + 3));
  EXPECT_EQ(run.generation().finish, FinishReason::EosToken);
  EXPECT_EQ(run.generation().processed, 7);

  SessionOptions ignoring = optionsWith(100, 6);
  ignoring.ignoreEos = true;
  EXPECT_EQ(TestRun({promptOf(5)}, ignoring, model).finish().generation().tokens, expected);
}

TEST(Session, StopsAtTheContextLimit) {
  SessionOptions options = optionsWith(100, 50);
  options.maxContext = 9;
  TestRun run({promptOf(7)}, options);
  run.finish();
  EXPECT_EQ(run.limits.maxPages, 3);
  EXPECT_EQ(run.generation().tokens, expectedTokens(promptOf(7), 3));
  EXPECT_EQ(run.generation().finish, FinishReason::ContextLimit);
  EXPECT_EQ(run.generation().processed, 9);

  ModelDescription small = testModel();
  small.maxPositions = 8;
  EXPECT_EQ(TestRun({promptOf(7)}, optionsWith(100, 50), small).finish().generation().processed, 8);
}

TEST(Session, AllLogitsRowsAndExperts) {
  SessionOptions options = optionsWith(3, 4);
  options.allLogits = options.keepRows = options.keepExperts = true;
  std::vector<std::vector<int32_t>> prompts{promptOf(5), promptOf(2, 8)};
  TestRun run(prompts, options);
  run.finish();
  for (size_t number = 0; number < prompts.size(); ++number) {
    std::vector<int32_t> tokens = prompts[number], generated = expectedTokens(prompts[number], 4);
    tokens.insert(tokens.end(), generated.begin(), generated.end() - 1);
    const Generation &generation = run.generation(int64_t(number));
    ASSERT_EQ(generation.processed, int64_t(tokens.size()));
    ASSERT_EQ(generation.rows.size(), 2u);
    std::vector<int32_t> seen;
    for (size_t token = 0; token < tokens.size(); ++token) {
      seen.push_back(tokens[token]);
      std::vector<float> logits(generation.logits.begin() + 50 * int64_t(token),
                                generation.logits.begin() + 50 * int64_t(token + 1));
      EXPECT_EQ(logits, FakeExecutor::logitsOf(seen, 50));
      for (size_t entry = 0; entry < 2; ++entry) {
        EXPECT_EQ(generation.rows[1][2 * token + entry], FakeExecutor::valueOf(seen, 1, entry));
        EXPECT_EQ(generation.experts[0][2 * token + entry], FakeExecutor::valueOf(seen, 0, entry));
      }
    }
    EXPECT_EQ(generation.logits.size(), 50 * tokens.size());
    EXPECT_EQ(generation.rows[0].size(), 3 * tokens.size());
  }
}

TEST(Session, AllLogitsOfAStepStayBelow64MiB) {
  ModelDescription model = testModel();
  model.vocabularySize = (int64_t(64) << 20) / 4 / 5; // room for five tokens
  SessionOptions options = optionsWith(100, 1);
  options.allLogits = true;
  ExecutorOptions limits;
  ASSERT_TRUE(planExecutor(model, options, {20}, limits).ok());
  EXPECT_EQ(limits.maxWanted, 5);
  EXPECT_EQ(limits.maxTokens, 20);
  model.vocabularySize *= 100;
  ASSERT_TRUE(planExecutor(model, options, {20}, limits).ok());
  EXPECT_EQ(limits.maxWanted, 1);
}

TEST(Session, StepsAreSplitByWantedTokens) {
  SessionOptions options = optionsWith(100, 1);
  ExecutorOptions limits;
  ModelDescription model = testModel();
  for (bool allLogits : {true, false}) {
    options.allLogits = allLogits;
    ASSERT_TRUE(planExecutor(model, options, {4, 3, 2}, limits).ok());
    limits.maxWanted = 2;
    FakeExecutor executor(model, limits);
    Session session(executor, limits, options);
    for (int64_t length : {4, 3, 2})
      ASSERT_TRUE(session.addPrompt({promptOf(length, int32_t(length)), {}, {}}).ok());
    while (!session.finished())
      ASSERT_TRUE(session.step().ok());
    EXPECT_EQ(executor.steps.size(), allLogits ? 5u : 2u);
    for (int64_t number = 0; number < 3; ++number) {
      int64_t length = 4 - number;
      EXPECT_EQ(session.generation(number).tokens,
                expectedTokens(promptOf(length, int32_t(length)), 1));
    }
  }
}

/// Rows [indexers, T, k]: entry 0 is the token's own position, the rest −1.
std::vector<int32_t> rowsFor(const ModelDescription &model, int64_t tokens) {
  std::vector<int32_t> rows;
  for (int64_t width : model.rowWidths)
    for (int64_t token = 0; token < tokens; ++token) {
      rows.push_back(int32_t(token));
      rows.insert(rows.end(), size_t(width - 1), -1);
    }
  return rows;
}

std::vector<int32_t> expertsFor(int64_t tokens) {
  std::vector<int32_t> experts;
  for (int64_t token = 0; token < tokens; ++token) {
    experts.push_back(int32_t(token % 4));
    experts.push_back(int32_t(4 + token % 3));
  }
  return experts;
}

TEST(Session, ImportedArraysAreSlicedByStep) {
  SessionOptions options = optionsWith(4, 3);
  options.keepRows = options.keepExperts = true;
  ModelDescription model = testModel();
  ExecutorOptions limits;
  ASSERT_TRUE(planExecutor(model, options, {5, 2}, limits).ok());
  FakeExecutor executor(model, limits);
  Session session(executor, limits, options);
  for (int64_t length : {5, 2})
    ASSERT_TRUE(
        session.addPrompt({promptOf(length), rowsFor(model, length + 2), expertsFor(length + 2)})
            .ok());
  while (!session.finished())
    ASSERT_TRUE(session.step().ok());
  for (int64_t number = 0; number < 2; ++number) {
    int64_t tokens = number == 0 ? 7 : 4;
    const Generation &generation = session.generation(number);
    std::vector<int32_t> rows = generation.rows[0];
    rows.insert(rows.end(), generation.rows[1].begin(), generation.rows[1].end());
    EXPECT_EQ(rows, rowsFor(model, tokens));
    EXPECT_EQ(generation.experts[0], expertsFor(tokens));
  }
}

TEST(Session, ImportedArraysAreChecked) {
  ModelDescription model = testModel();
  SessionOptions options = optionsWith(4, 3);
  ExecutorOptions limits;
  ASSERT_TRUE(planExecutor(model, options, {5, 5}, limits).ok());
  FakeExecutor executor(model, limits);
  Session session(executor, limits, options);
  auto error = [&](std::vector<int32_t> rows, std::vector<int32_t> experts) {
    return session.addPrompt({promptOf(5), std::move(rows), std::move(experts)}).status().message();
  };
  std::vector<int32_t> rows = rowsFor(model, 7), experts = expertsFor(7);
  EXPECT_EQ(error(rowsFor(model, 6), {}),
            "imported rows: expected 35 entries for 7 tokens but got 30");
  rows[3] = 2;
  EXPECT_EQ(error(rows, {}),
            "imported rows: indexer 0, token 1, entry 0: position 2 is not visible");
  rows = rowsFor(model, 7);
  rows[21 + 2] = -2;
  EXPECT_EQ(error(rows, {}),
            "imported rows: indexer 1, token 1, entry 0: position -2 is not visible");
  rows = rowsFor(model, 7);
  rows[13] = 4;
  EXPECT_EQ(error(rows, {}), "imported rows: indexer 0, token 4, entry 1: expected ascending "
                             "positions but got 4 after 4");
  rows = rowsFor(model, 7);
  rows[14] = 0;
  EXPECT_EQ(error(rows, {}),
            "imported rows: indexer 0, token 4, entry 2: expected -1 after -1 but got 0");
  experts[2] = 8;
  EXPECT_EQ(error({}, experts),
            "imported experts: mixture 0, token 1, entry 0: expert 8 is not one of 8");
  experts[2] = experts[3];
  EXPECT_EQ(error({}, experts), "imported experts: mixture 0, token 1, entry 1: expected ascending "
                                "experts but got 5 after 5");
  EXPECT_EQ(error(rowsFor(model, 7), {}), "");
  EXPECT_EQ(error({}, {}), "rows and experts must be imported for all prompts or for none");
}

TEST(Session, BadPrompts) {
  TestRun run({promptOf(5)}, optionsWith(4, 3));
  auto error = [&](std::vector<int32_t> tokens) {
    return run.session->addPrompt({std::move(tokens), {}, {}}).status().message();
  };
  EXPECT_EQ(error({}), "the prompt is empty");
  EXPECT_EQ(error({1, 50}), "token id 50 at position 1 is outside the vocabulary of 50");
  EXPECT_EQ(error({-1}), "token id -1 at position 0 is outside the vocabulary of 50");
  EXPECT_EQ(error(promptOf(101)), "the prompt has 101 tokens but the model has 100 positions");
  EXPECT_EQ(error(promptOf(5)), "all 1 sequences are in use");
  SessionOptions options = optionsWith(4, 3);
  options.maxContext = 6;
  EXPECT_EQ(checkPrompt(testModel(), options, promptOf(7)).message(),
            "the prompt has 7 tokens but the context is limited to 6");
  EXPECT_TRUE(checkPrompt(testModel(), options, promptOf(6)).ok());
}

TEST(Session, TooFewPages) {
  SessionOptions options = optionsWith(4, 3);
  ExecutorOptions limits;
  ASSERT_TRUE(planExecutor(testModel(), options, {5, 5}, limits).ok());
  FakeExecutor executor(testModel(), limits);
  Session session(executor, limits, options);
  ASSERT_TRUE(session.addPrompt({promptOf(5), {}, {}}).ok());
  EXPECT_EQ(session.addPrompt({promptOf(15), {}, {}}).status().message(),
            "the caches have too few pages: needed 5, 2 are free");
}

TEST(Session, BadOptions) {
  ExecutorOptions limits;
  auto error = [&](int64_t chunk, int64_t newTokens, int64_t context) {
    SessionOptions options = optionsWith(chunk, newTokens);
    options.maxContext = context;
    return planExecutor(testModel(), options, {5}, limits).message();
  };
  EXPECT_EQ(error(0, 1, 0), "expected a chunk of 1 to 1048576 tokens but got 0");
  EXPECT_EQ(error(1, 0, 0), "expected 1 to 2147483647 new tokens but got 0");
  EXPECT_EQ(error(1, 1, -1), "expected a context of at least 1 token but got -1");
}

TEST(Session, GoesOnAfterAFailedStep) {
  TestRun run({promptOf(9), promptOf(3)}, optionsWith(5, 4));
  while (!run.session->finished()) {
    run.executor->failNext = true;
    EXPECT_EQ(run.session->step().message(), "the fake executor was told to fail");
    ASSERT_TRUE(run.session->step().ok());
  }
  EXPECT_EQ(run.generation(0).tokens, expectedTokens(promptOf(9), 4));
  EXPECT_EQ(run.generation(1).tokens, expectedTokens(promptOf(3), 4));
}

TEST(Session, Statistics) {
  TestRun run({promptOf(10)}, optionsWith(4, 3));
  run.executor->nanScores = 2;
  EXPECT_EQ(run.session->plannedTokens(), 12);
  run.finish();
  const SessionStatistics &statistics = run.session->statistics();
  EXPECT_EQ(statistics.steps, 5);
  EXPECT_EQ(statistics.prefillTokens, 10);
  EXPECT_EQ(statistics.decodeTokens, 2);
  EXPECT_EQ(statistics.nanScores, 10);
  EXPECT_EQ(run.session->processedTokens(), 12);
}

TEST(Session, StepsAreTraced) {
  Trace trace;
  TestRun run({promptOf(3)}, optionsWith(4, 2), testModel(), &trace);
  run.finish();
  std::string json = trace.json();
  EXPECT_NE(json.find("\"name\": \"prefill\", \"cat\": \"step\""), std::string::npos);
  EXPECT_NE(json.find("\"args\": {\"step\": 0, \"tokens\": 3}"), std::string::npos);
  EXPECT_NE(json.find("\"args\": {\"step\": 1, \"tokens\": 1}"), std::string::npos);
}

} // namespace
} // namespace strata::rt
