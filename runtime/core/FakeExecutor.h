//===- FakeExecutor.h - A model for the tests of sessions -------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_FAKEEXECUTOR_H
#define STRATA_RUNTIME_CORE_FAKEEXECUTOR_H

#include "strata/runtime/core/Executor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace strata::rt {

/// Keeps token ids in a paged cache and makes logits, rows and experts from all ids that a token
/// sees. So a wrong page, position or order changes the tokens. Expects of each step what
/// Executor.h says.
class FakeExecutor : public Executor {
public:
  FakeExecutor(ModelDescription model, ExecutorOptions limits)
      : model_(std::move(model)), limits_(limits),
        cache_(size_t(limits.maxPages * model_.pageSize), kUnwritten) {}

  const ModelDescription &model() const override { return model_; }
  uint64_t memoryBytes() const override { return cache_.size() * sizeof(int32_t); }

  Status step(const StepInput &input, StepOutput &output) override {
    checkStep(input);
    steps.push_back(input);
    if (failNext) {
      failNext = false;
      return Status(StatusCode::Io, "the fake executor was told to fail");
    }
    for (size_t token = 0; token < input.tokenIds.size(); ++token)
      record(input, token, input.positions[token]) = input.tokenIds[token];
    size_t wanted = 0;
    for (size_t token = 0; token < input.tokenIds.size(); ++token) {
      std::vector<int32_t> seen;
      for (int32_t position = 0; position <= input.positions[token]; ++position)
        seen.push_back(record(input, token, position));
      if (wanted < input.wanted.size() && input.wanted[wanted] == int32_t(token)) {
        std::vector<float> logits = logitsOf(seen, model_.vocabularySize);
        std::copy(logits.begin(), logits.end(),
                  output.logits + model_.vocabularySize * int64_t(wanted++));
      }
      fill(model_.rowWidths, input.importedRows, output.rows, token, seen);
      fill(model_.expertWidths, input.importedExperts, output.experts, token, seen);
    }
    output.nanScores = nanScores;
    return Status::success();
  }

  Expected<CacheDescription> describeCaches() const override {
    return CacheDescription{{{"ids", model_.pageSize * int64_t(sizeof(int32_t))}}, identity};
  }
  Status readPage(int64_t, int32_t page, int64_t records, std::byte *target) const override {
    std::memset(target, 0, size_t(model_.pageSize) * sizeof(int32_t));
    std::memcpy(target, &cache_.at(size_t(page * model_.pageSize)),
                size_t(records) * sizeof(int32_t));
    return Status::success();
  }
  Status writePage(int64_t, int32_t page, int64_t records, const std::byte *source) override {
    if (failNext) {
      failNext = false;
      return Status(StatusCode::Io, "the fake executor was told to fail");
    }
    std::memcpy(&cache_.at(size_t(page * model_.pageSize)), source,
                size_t(records) * sizeof(int32_t));
    return Status::success();
  }

  /// The model's meaning, for a token that sees `seen` (its own id last).
  static std::vector<float> logitsOf(const std::vector<int32_t> &seen, int64_t vocabulary) {
    std::vector<float> logits(size_t(vocabulary), 0);
    for (int64_t id = 0; id < vocabulary; ++id)
      logits[id] = float(hash(seen, uint64_t(id)) % 1000);
    return logits;
  }
  static int32_t valueOf(const std::vector<int32_t> &seen, size_t layer, int64_t entry) {
    return int32_t(hash(seen, 1000 * (layer + 1) + uint64_t(entry)) % 100000);
  }

  std::vector<StepInput> steps; ///< all that were asked for
  bool failNext = false;
  int64_t nanScores = 0;
  std::string identity = R"({"model":"fake"})"; ///< of its caches

private:
  static constexpr int32_t kUnwritten = -1;

  static uint64_t hash(const std::vector<int32_t> &seen, uint64_t seed) {
    uint64_t value = seed + 1;
    for (int32_t id : seen)
      value = (value ^ uint64_t(id) + 0x9E3779B97F4A7C15) * 0xC2B2AE3D27D4EB4F;
    return value >> 20;
  }

  int32_t &record(const StepInput &input, size_t token, int32_t position) {
    int32_t page = input.pages.at(size_t(input.pageBegin[token] + position / model_.pageSize));
    EXPECT_GE(page, 0);
    EXPECT_LT(page, limits_.maxPages);
    return cache_.at(size_t(page * model_.pageSize + position % model_.pageSize));
  }

  /// Imported values where there are any.
  static void fill(const std::vector<int64_t> &widths, const std::vector<const int32_t *> &imported,
                   const std::vector<int32_t *> &outputs, size_t token,
                   const std::vector<int32_t> &seen) {
    for (size_t layer = 0; layer < outputs.size(); ++layer)
      for (int64_t entry = 0; entry < widths[layer]; ++entry) {
        size_t index = token * size_t(widths[layer]) + size_t(entry);
        outputs[layer][index] =
            imported.empty() ? valueOf(seen, layer, entry) : imported[layer][index];
      }
  }

  void checkStep(const StepInput &input) {
    size_t tokens = input.tokenIds.size();
    ASSERT_GT(tokens, 0u);
    ASSERT_LE(int64_t(tokens), limits_.maxTokens);
    ASSERT_LE(int64_t(input.wanted.size()), limits_.maxWanted);
    ASSERT_EQ(input.positions.size(), tokens);
    ASSERT_EQ(input.sequences.size(), tokens);
    ASSERT_EQ(input.pageBegin.size(), tokens);
    std::vector<bool> seen(size_t(limits_.maxSequences), false);
    for (size_t token = 0; token < tokens; ++token) {
      ASSERT_GE(input.sequences[token], 0);
      ASSERT_LT(input.sequences[token], limits_.maxSequences);
      bool follows = token > 0 && input.sequences[token] == input.sequences[token - 1];
      if (follows)
        ASSERT_EQ(input.positions[token], input.positions[token - 1] + 1);
      else
        ASSERT_FALSE(seen[size_t(input.sequences[token])]) << "a sequence is in two places";
      seen[size_t(input.sequences[token])] = true;
    }
    for (size_t i = 1; i < input.wanted.size(); ++i)
      ASSERT_LT(input.wanted[i - 1], input.wanted[i]);
  }

  ModelDescription model_;
  ExecutorOptions limits_;
  std::vector<int32_t> cache_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_FAKEEXECUTOR_H
