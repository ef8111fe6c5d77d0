//===- CpuExecutorTest.cpp ------------------------------------------------===//
#include "strata/runtime/cpu/CpuExecutor.h"

#include "strata/runtime/core/Trace.h"
#include "strata/runtime/cpu/Arena.h"
#include "strata/runtime/cpu/TestModel.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace strata;
using namespace strata::rt;

namespace {

constexpr int64_t kWidth = 32, kVocabulary = 32;

/// A token's logits are the sum of the first table entries of all tokens of its sequence so far:
/// a launch that writes a cache, one that reads it, and the pick of the wanted rows.
struct SumModel {
  std::vector<float> table = randomValues(kVocabulary * kWidth, 1);
  TestModel model{kVocabulary};

  SumModel() {
    using package::StepArray;
    int32_t hidden = model.gatherTable(table);
    package::Argument cache = TestModel::cacheArgument();
    package::Argument positions = TestModel::stepArgument(StepArray::Positions);
    package::Argument pageBegin = TestModel::stepArgument(StepArray::PageBegin);
    package::Argument pages = TestModel::stepArgument(StepArray::Pages);
    model.launch("append", {TestModel::slotArgument(hidden), positions, pageBegin, pages, cache});
    int32_t sums = model.slot(4 * kWidth);
    model.launch("sum_visible",
                 {positions, pageBegin, pages, cache, TestModel::slotArgument(sums)});
    model.setLogits(sums);
  }

  std::unique_ptr<Executor> executor(ExecutorOptions options) {
    Expected<std::unique_ptr<Executor>> executor = model.finish(options);
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    return executor.ok() ? std::move(*executor) : nullptr;
  }
};

ExecutorOptions smallOptions() {
  ExecutorOptions options;
  options.maxTokens = options.maxWanted = 64;
  options.maxPages = 16;
  options.maxSequences = 2;
  options.threads = 2;
  options.poison = true;
  return options;
}

std::vector<float> firstLogits(Executor &executor, const StepInput &input) {
  std::vector<float> logits(input.wanted.size() * kVocabulary), first;
  StepOutput output;
  output.logits = logits.data();
  Status status = executor.step(input, output);
  EXPECT_TRUE(status.ok()) << status.message();
  for (size_t n = 0; n < input.wanted.size(); ++n)
    first.push_back(logits[n * kVocabulary]);
  return first;
}

std::vector<int32_t> someTokens(int32_t count) {
  std::vector<int32_t> tokens;
  for (int32_t n = 0; n < count; ++n)
    tokens.push_back(n * 5 % int32_t(kVocabulary));
  return tokens;
}

// Rows 66 and 69: 20 = 7 + 13 = 1 + 19 = 19 + 1 = twenty times 1.
TEST(CpuExecutor, Row66ChunksEqualOneStep) {
  SumModel model;
  std::vector<int32_t> tokens = someTokens(20);
  std::unique_ptr<Executor> executor = model.executor(smallOptions());
  std::vector<float> whole = firstLogits(*executor, oneSequence(tokens));
  float sum = 0;
  for (size_t n = 0; n < tokens.size(); ++n) {
    sum += model.table[size_t(tokens[n]) * kWidth];
    EXPECT_EQ(whole[n], sum);
  }
  for (const std::vector<size_t> &chunks :
       {std::vector<size_t>{7, 13}, {1, 19}, {19, 1}, std::vector<size_t>(20, 1)}) {
    executor = model.executor(smallOptions());
    size_t first = 0;
    for (size_t chunk : chunks) {
      std::vector<int32_t> part(tokens.begin() + int64_t(first),
                                tokens.begin() + int64_t(first + chunk));
      EXPECT_EQ(firstLogits(*executor, oneSequence(part, int32_t(first))),
                std::vector<float>(whole.begin() + int64_t(first),
                                   whole.begin() + int64_t(first + chunk)));
      first += chunk;
    }
  }
}

// Row 54: one executor, lengths that go up and down.
TEST(CpuExecutor, Row54StepsOfOtherSizesFollow) {
  SumModel model;
  std::unique_ptr<Executor> executor = model.executor(smallOptions());
  for (int32_t count : {9, 17, 5, 64, 1}) {
    std::vector<float> sums = firstLogits(*executor, oneSequence(someTokens(count)));
    float expected = 0;
    for (int32_t token : someTokens(count))
      expected += model.table[size_t(token) * kWidth];
    EXPECT_EQ(sums.back(), expected);
  }
}

TEST(CpuExecutor, SequencesDoNotSeeEachOther) {
  SumModel model;
  std::unique_ptr<Executor> executor = model.executor(smallOptions());
  StepInput input;
  input.tokenIds = {1, 2, 3, 4, 5, 6, 7};
  input.positions = {0, 1, 2, 3, 4, 0, 1};
  input.sequences = {0, 0, 0, 0, 0, 1, 1};
  input.pageBegin = {0, 0, 0, 0, 0, 2, 2};
  input.pages = {3, 9, 4};
  input.wanted = {4, 6};
  std::vector<float> sums = firstLogits(*executor, input);
  auto entry = [&](int token) { return model.table[size_t(token) * kWidth]; };
  EXPECT_EQ(sums[0], entry(1) + entry(2) + entry(3) + entry(4) + entry(5));
  EXPECT_EQ(sums[1], entry(6) + entry(7));
}

TEST(CpuExecutor, AStepWithoutTokensDoesNothing) {
  SumModel model;
  std::unique_ptr<Executor> executor = model.executor(smallOptions());
  StepOutput output;
  output.nanScores = 5;
  EXPECT_TRUE(executor->step({}, output).ok());
  EXPECT_EQ(output.nanScores, 0);
}

TEST(CpuExecutor, WrongStepsAreRefused) {
  SumModel model;
  std::unique_ptr<Executor> executor = model.executor(smallOptions());
  StepInput input = oneSequence({1, 40});
  StepOutput output;
  EXPECT_EQ(executor->step(input, output).message(),
            "step: expected a token id in [0, 32) but got 40");
}

// Row 15: what nobody wrote is NaN.
TEST(CpuExecutor, Row15PoisonShowsReadsOfWhatWasNeverWritten) {
  SumModel model;
  std::unique_ptr<Executor> executor = model.executor(smallOptions());
  // Position 3 without the ones before it.
  EXPECT_TRUE(std::isnan(firstLogits(*executor, oneSequence({1}, 3))[0]));
}

TEST(CpuExecutor, OneTraceEventForEachCommand) {
  SumModel model;
  Trace trace;
  ExecutorOptions options = smallOptions();
  options.trace = &trace;
  std::unique_ptr<Executor> executor = model.executor(options);
  firstLogits(*executor, oneSequence({1, 2}));
  std::string json = trace.json();
  for (const char *label : {"gather", "append", "sum_visible", "pick"})
    EXPECT_NE(json.find(label), std::string::npos) << label;
  EXPECT_NE(json.find("Launch"), std::string::npos);
}

// Row 50: the memory that is reported is what is asked for, and the limit holds for all of it.
TEST(CpuExecutor, Row50TheMemoryLimitIsChecked) {
  SumModel model;
  ExecutorOptions options = smallOptions();
  uint64_t bytes = model.executor(options)->memoryBytes();
  // Rows, sums and logits of 64 tokens and 16 pages of 4 records.
  EXPECT_EQ(bytes, uint64_t(3 * 64 * kWidth * 4 + 16 * 4 * kWidth * 4));
  options.memoryLimit = bytes;
  EXPECT_TRUE(model.model.finish(options).ok());
  options.memoryLimit = bytes - 1;
  Status status = model.model.finish(options).status();
  EXPECT_EQ(status.code(), StatusCode::OutOfMemory);
  EXPECT_EQ(status.message(),
            "expected to need at most 32767 bytes (the memory limit) but it is 32768: arena 24576, "
            "caches 8192, widened weights 0");
  options.memoryLimit = 0;
  options.maxPages = INT32_MAX;
  EXPECT_EQ(model.model.finish(options).status().code(), StatusCode::OutOfMemory);
}

TEST(CpuExecutor, OptionsOutOfRangeAreRefused) {
  SumModel model;
  ExecutorOptions options = smallOptions();
  options.maxTokens = 0;
  EXPECT_EQ(model.model.finish(options).status().message(),
            "expected maxTokens in [1, 1048576] but got 0");
  options = smallOptions();
  options.threads = -3;
  EXPECT_FALSE(model.model.finish(options).ok());
}

TEST(CpuExecutor, KernelsThatTheObjectLacksAreNamed) {
  TestModel model(kVocabulary);
  model.launch("no_such_kernel", {});
  EXPECT_EQ(model.finish({}).status().message(),
            "the package's object for x86-64 has no kernel no_such_kernel");
}

TEST(CpuExecutor, WidenedWeightsReachKernelsAsFloats) {
  // "gather" reads the table as f32 whether it is widened or in place.
  for (bool widen : {false, true}) {
    TestModel model(kVocabulary);
    std::vector<float> table = randomValues(kVocabulary * kWidth, 9);
    int32_t weight = model.weight("table", {kVocabulary, kWidth}, table, widen);
    int32_t rows = model.slot(4 * kWidth);
    model.launch("gather", {TestModel::stepArgument(package::StepArray::TokenIds),
                            package::Argument(package::ArgumentKind::Weight, weight, 0),
                            TestModel::slotArgument(rows)});
    model.setLogits(rows);
    Expected<std::unique_ptr<Executor>> executor = model.finish(smallOptions());
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    EXPECT_EQ(firstLogits(**executor, oneSequence({3, 0})),
              (std::vector<float>{table[3 * kWidth], table[0]}));
  }
}

TEST(Arena, SlotsFollowEachOtherAtCacheLines) {
  using namespace package;
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<Slot>> slots;
  for (Size size : {Size(4, 0, 0), Size(0, 8, 1), Size(0, 0, 0), Size(100, 0, 0)})
    slots.push_back(CreateSlot(builder, &size));
  auto vector = builder.CreateVector(slots);
  ManifestBuilder manifest(builder);
  manifest.add_slots(vector);
  builder.Finish(manifest.Finish());
  Expected<Arena::Layout> layout = Arena::layOut(
      *flatbuffers::GetRoot<Manifest>(builder.GetBufferPointer()), /*tokens=*/16, /*wanted=*/8);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->offsets, (std::vector<uint64_t>{0, 64, 192, 192}));
  EXPECT_EQ(layout->size, 192u + 1600u);
}

} // namespace
