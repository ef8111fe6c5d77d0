//===- Session.h - Prompts in, tokens out -----------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_SESSION_H
#define STRATA_RUNTIME_CORE_SESSION_H

#include "strata/runtime/core/Executor.h"
#include "strata/runtime/core/PagePool.h"

#include <cstdint>
#include <optional>
#include <string>
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
};

/// One prompt. Imported arrays replace what the model would choose; empty: none.
struct Prompt {
  std::vector<int32_t> tokens;
  std::vector<int32_t> importedRows;    ///< [indexers, T, k]; T: `contextTokens`
  std::vector<int32_t> importedExperts; ///< [mixtures, T, experts per token]
};

enum class FinishReason { None, EosToken, NewTokenLimit, ContextLimit };

/// What came of one prompt. T counts the tokens that went through the model: prompt and new tokens
/// but the last.
struct Generation {
  std::vector<int32_t> tokens; ///< new tokens, an eos id included
  FinishReason finish = FinishReason::None;
  int64_t processed = 0;                  ///< T
  std::vector<float> logits;              ///< [T, vocabulary] with `allLogits`
  std::vector<std::vector<int32_t>> rows; ///< per indexer [T, k] with `keepRows`
  std::vector<std::vector<int32_t>>
      experts; ///< per mixture [T, experts per token] with `keepExperts`
};

/// A step that has any prompt token counts as prefill, others as decode.
struct SessionStatistics {
  int64_t steps = 0;
  int64_t prefillTokens = 0, decodeTokens = 0;
  double prefillSeconds = 0, decodeSeconds = 0;
  int64_t nanScores = 0;
};

/// T of a prompt that runs to its limits: prompt + new − 1 tokens, cut at the context limit.
int64_t contextTokens(const ModelDescription &model, const SessionOptions &options,
                      int64_t promptTokens);

/// An error if the prompt is empty, longer than the context limit or holds an id outside the
/// vocabulary.
Status checkPrompt(const ModelDescription &model, const SessionOptions &options,
                   const std::vector<int32_t> &tokens);

/// The smallest limits with which all prompts of these lengths run at the same time.
/// With options.maxContext each gets that many tokens, otherwise what it needs. Leaves memory
/// limit, threads, poison and trace as they are.
void planExecutor(const ModelDescription &model, const SessionOptions &options,
                  const std::vector<int64_t> &promptTokens, ExecutorOptions &limits);

/// Feeds prompts through an executor step by step and picks the next token greedily. Sequences with
/// one token to go (decode) come first in a step, then prompts in their order, as far as the chunk
/// reaches.
class Session {
public:
  /// `executor` was made with `limits` and outlives the session.
  Session(Executor &executor, const ExecutorOptions &limits, const SessionOptions &options);

  /// Takes a prompt and gives its number, counted from 0. An error if it can't be run, or if all
  /// sequence slots or pages are taken.
  Expected<int64_t> addPrompt(Prompt prompt);

  /// True when no prompt has anything left to do.
  bool finished() const { return active_.empty(); }
  /// Runs one step; nothing happens when finished. After an error the session is as before.
  Status step();

  int64_t promptCount() const { return int64_t(sequences_.size()); }
  const Generation &generation(int64_t prompt) const { return sequences_[prompt].generation; }
  const SessionStatistics &statistics() const { return statistics_; }
  /// Tokens that went through the model, and the most that will, over all prompts.
  int64_t processedTokens() const;
  int64_t plannedTokens() const;

private:
  struct Sequence {
    Prompt prompt;
    int64_t context = 0; ///< T at most
    int32_t slot = -1;
    std::vector<int32_t> pages;
    Generation generation;
  };
  /// A run of tokens of one sequence within a step.
  struct Segment {
    int64_t sequence, firstToken, count;
    std::optional<int64_t> nextLogits; ///< index into the wanted tokens, if the next token is due
  };
  struct StepBuffers;

  std::vector<Segment> composeStep(StepInput &input);
  void importArrays(const std::vector<Segment> &segments, StepBuffers &buffers, StepInput &input);
  Status finishStep(const std::vector<Segment> &segments, const StepBuffers &buffers);
  void retire(Sequence &sequence, FinishReason reason);

  Executor &executor_;
  ExecutorOptions limits_;
  SessionOptions options_;
  PagePool pool_;
  std::vector<Sequence> sequences_;
  std::vector<int64_t> active_; ///< sequences that are not finished, ascending
  std::vector<int32_t> freeSlots_;
  SessionStatistics statistics_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_SESSION_H
