//===- Session.h - Prompts in, tokens out -----------------------*- C++ -*-===//
#ifndef STRATA_RUNTIME_CORE_SESSION_H
#define STRATA_RUNTIME_CORE_SESSION_H

#include "strata/runtime/core/Executor.h"
#include "strata/runtime/core/PagePool.h"
#include "strata/runtime/core/SequenceFile.h"
#include "strata/runtime/core/SessionPlan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace strata::rt {

/// One prompt. Imported arrays replace what the model would choose; empty: none.
struct Prompt {
  std::vector<int32_t> tokens;
  std::vector<int32_t> importedRows;    ///< [indexers, T, k]; T: `contextTokens`
  std::vector<int32_t> importedExperts; ///< [mixtures, T, experts per token]
};

enum class FinishReason { None, EosToken, NewTokenLimit, ContextLimit };

/// What came of one prompt. T counts the tokens that went through the model: prompt and new tokens
/// but the last. Logits, rows and experts are those of the N tokens that went through it in this
/// session: all but the loaded ones.
struct Generation {
  std::vector<int32_t> tokens; ///< new tokens, an eos id included
  FinishReason finish = FinishReason::None;
  int64_t loaded = 0;                     ///< tokens whose records came from a file
  int64_t processed = 0;                  ///< T
  std::vector<float> logits;              ///< [N, vocabulary] with `allLogits`
  std::vector<std::vector<int32_t>> rows; ///< per indexer [N, k] with `keepRows`
  std::vector<std::vector<int32_t>>
      experts; ///< per mixture [N, experts per token] with `keepExperts`
  int64_t computed() const { return processed - loaded; } ///< N
};

/// A step that has any prompt token counts as prefill, others as decode.
struct SessionStatistics {
  int64_t steps = 0;
  int64_t prefillTokens = 0, decodeTokens = 0;
  double prefillSeconds = 0, decodeSeconds = 0;
  int64_t nanScores = 0;
};

/// Feeds prompts through an executor step by step and picks the next token greedily. Sequences with
/// one token to go (decode) come first in a step, then prompts in their order, as far as the chunk
/// reaches.
class Session {
public:
  /// `executor` was made with `limits` and outlives the session.
  Session(Executor &executor, const ExecutorOptions &limits, const SessionOptions &options);

  /// Takes a prompt and gives its number, counted from 0. An error if it can't be run, or if all
  /// sequence slots or pages are taken. With `saved` the prompt's tokens, maybe none, follow those
  /// of a saved sequence: what went through the model then does so no more. An error if the
  /// sequence is not one of this model, or its file is damaged.
  Expected<int64_t> addPrompt(Prompt prompt, const SequenceFile *saved = nullptr);

  /// Writes a sequence that is in the caches: one that is not finished, or that was kept. At least
  /// one step must have run for it. May be called between steps; nothing changes.
  Status saveSequence(int64_t prompt, const std::string &path) const;
  /// Gives up the room of a finished sequence that was kept. Its results stay.
  Status dropSequence(int64_t prompt);

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
    int32_t slot = -1;   ///< −1: it is in the caches no more
    std::vector<int32_t> pages;
    Generation generation;

    int32_t token(int64_t position) const;
    int64_t pendingTokens() const;
  };
  /// A run of tokens of one sequence within a step.
  struct Segment {
    int64_t sequence;
    int64_t count;       ///< tokens, from position `processed` on
    int64_t firstToken;  ///< index of the first within the step
    int64_t firstWanted; ///< index of the first of its tokens whose logits are wanted
    bool due;            ///< the last one's logits give the next token
  };
  /// Arrays of a step, kept so that they are not allocated anew for each. One entry of rows and
  /// experts for each indexer and mixture.
  struct Buffers {
    std::vector<float> logits;
    std::vector<std::vector<int32_t>> rows, experts, importedRows, importedExperts;
  };

  Status checkImports(const Prompt &prompt, int64_t context) const;
  void takePages(Sequence &sequence, int64_t tokens);
  Status load(const SequenceFile &saved, Sequence &sequence);
  Status checkNumber(int64_t prompt) const;
  std::vector<Segment> composeStep(StepInput &input);
  void appendSegment(Segment segment, StepInput &input);
  void sliceImports(const std::vector<Segment> &segments, StepInput &input);
  StepOutput prepareOutput(const StepInput &input);
  Status finishStep(const std::vector<Segment> &segments);
  void acceptToken(Sequence &sequence, int32_t token);
  void retire(Sequence &sequence, FinishReason reason);
  void release(Sequence &sequence);

  Executor &executor_;
  const ModelDescription &model_;
  ExecutorOptions limits_;
  SessionOptions options_;
  PagePool pool_;
  std::vector<Sequence> sequences_;
  std::vector<int64_t> active_; ///< sequences that are not finished, ascending
  std::vector<int32_t> freeSlots_;
  Buffers buffers_;
  SessionStatistics statistics_;
};

} // namespace strata::rt

#endif // STRATA_RUNTIME_CORE_SESSION_H
