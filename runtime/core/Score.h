//===- Score.h - How well a model predicts a text ---------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_SCORE_H
#define STRATA_RUNTIME_CORE_SCORE_H

#include "strata/runtime/core/Executor.h"
#include "strata/runtime/core/Recall.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace strata::rt {

/// A text is cut into windows that follow each other: window w has the inputs text[w × length …]
/// and as its targets the bytes one further, so the last target is the first input of the next.
/// What is left at the end is dropped.
struct ScoreOptions {
  int64_t window = 1024; ///< inputs, and targets, of a window
  int64_t chunk = 256;   ///< most tokens of one step; several short windows share one
};

/// What scoring took beside its result.
struct ScoreStatistics {
  int64_t tokens = 0;
  double seconds = 0;
  int64_t nanScores = 0; ///< index scores that were NaN and counted as −inf
};

/// The windows of a text of `bytes` bytes.
int64_t windowCount(int64_t bytes, int64_t window);

/// Text is scored byte by byte: an error if the vocabulary is not the 256 bytes, if the model has
/// fewer positions than a window, or if the text has no whole window.
Status checkScore(const ModelDescription &model, std::string_view text,
                  const ScoreOptions &options);

/// The limits that an executor needs to score up to `windows` windows. Leaves memory limit,
/// threads, poison and trace as they are. The logits of a step are at most 64 MiB.
void planScore(const ModelDescription &model, const ScoreOptions &options, int64_t windows,
               ExecutorOptions &limits);

/// The mean negative log-likelihood of each of the given windows (numbers, in any order), in nats
/// per byte: softmax in f64 from the executor's f32 logits. `checkScore` passed, and `executor` was
/// made with `limits` of `planScore`. With `recall` the rows of all windows are added to it. Logits
/// that are NaN are an error.
Expected<std::vector<double>> scoreWindows(Executor &executor, const ExecutorOptions &limits,
                                           std::string_view text,
                                           const std::vector<int64_t> &windows,
                                           const ScoreOptions &options, ScoreStatistics &statistics,
                                           RecallSums *recall = nullptr);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_SCORE_H
