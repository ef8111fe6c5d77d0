//===- SessionPlan.h - How much room prompts need ---------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_SESSIONPLAN_H
#define STRATA_RUNTIME_CORE_SESSIONPLAN_H

#include "strata/runtime/core/Executor.h"

#include <cstdint>
#include <vector>

namespace strata::rt {

struct SessionOptions {
  int64_t chunk = 256;       ///< most tokens of one step, of all sequences together
  int64_t maxNewTokens = 16; ///< of each prompt, at least 1
  int64_t maxContext = 0; ///< most tokens of one sequence in the caches; 0: the model's positions
  bool ignoreEos = false;
  bool allLogits = false; ///< compute and keep the logits of all tokens, not of the last ones alone
  bool keepRows = false;
  bool keepExperts = false;
  /// Sequences stay in the caches when they are finished, until they are dropped.
  bool keepSequences = false;
};

/// T of a prompt that runs to its limits: prompt + new − 1 tokens, cut at the context limit.
int64_t contextTokens(const ModelDescription &model, const SessionOptions &options,
                      int64_t promptTokens);

/// Pages of a cache that hold this many tokens of one sequence.
int64_t pagesFor(const ModelDescription &model, int64_t tokens);

/// An error if the prompt is empty, longer than the context limit or holds an id outside the
/// vocabulary.
Status checkPrompt(const ModelDescription &model, const SessionOptions &options,
                   const std::vector<int32_t> &tokens);

/// The smallest limits with which all prompts of these lengths run at the same time. With
/// options.maxContext each gets that many tokens in the caches, otherwise what it needs. Leaves
/// memory limit, threads, poison and trace as they are. An error if an option is out of range.
Status planExecutor(const ModelDescription &model, const SessionOptions &options,
                    const std::vector<int64_t> &promptTokens, ExecutorOptions &limits);

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_SESSIONPLAN_H
