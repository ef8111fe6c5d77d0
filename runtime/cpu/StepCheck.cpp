//===- StepCheck.cpp - Is a step's input what an executor can take? -------===//
#include "strata/runtime/cpu/StepCheck.h"

namespace strata::rt {

namespace {

class StepChecker {
public:
  StepChecker(const ModelDescription &model, const ExecutorOptions &options, const StepInput &input,
              const StepOutput &output)
      : model_(model), options_(options), input_(input), output_(output),
        tokens_(int64_t(input.tokenIds.size())) {}

  Status run() {
    (void)(checkCounts() && checkTokens() && checkWanted());
    return std::move(status_);
  }

private:
  bool fail(std::string message) {
    status_ = Status(StatusCode::InvalidArgument, "step: " + std::move(message));
    return false;
  }
  bool expectCount(const char *what, size_t count, size_t expected) {
    return count == expected || fail("expected " + std::to_string(expected) + " " + what +
                                     " but got " + std::to_string(count));
  }
  bool expectBelow(const char *what, int64_t value, int64_t bound) {
    return (value >= 0 && value < bound) ||
           fail("expected " + std::string(what) + " in [0, " + std::to_string(bound) +
                ") but got " + std::to_string(value));
  }
  /// Arrays that are there for each indexer or mixture, or not at all.
  bool expectAllOrNone(const char *what, size_t count, size_t all) {
    return count == 0 || expectCount(what, count, all);
  }

  bool checkCounts() {
    if (tokens_ > options_.maxTokens)
      return fail("expected at most " + std::to_string(options_.maxTokens) + " tokens but got " +
                  std::to_string(tokens_));
    size_t indexers = model_.rowWidths.size(), mixtures = model_.expertWidths.size();
    return expectCount("positions", input_.positions.size(), size_t(tokens_)) &&
           expectCount("sequences", input_.sequences.size(), size_t(tokens_)) &&
           expectCount("page beginnings", input_.pageBegin.size(), size_t(tokens_)) &&
           (model_.rowsAreInput
                ? expectCount("arrays of imported rows", input_.importedRows.size(), indexers)
                : expectAllOrNone("arrays of imported rows", input_.importedRows.size(),
                                  indexers)) &&
           expectAllOrNone("arrays of rows", output_.rows.size(), indexers) &&
           expectAllOrNone("arrays of imported experts", input_.importedExperts.size(), mixtures) &&
           expectAllOrNone("arrays of experts", output_.experts.size(), mixtures);
  }

  bool checkTokens() {
    std::vector<bool> seen(size_t(options_.maxSequences));
    for (size_t n = 0; n < size_t(tokens_); ++n) {
      int32_t position = input_.positions[n], sequence = input_.sequences[n];
      if (!expectBelow("a token id", input_.tokenIds[n], model_.vocabularySize) ||
          !expectBelow("a position", position, model_.maxPositions) ||
          !expectBelow("a sequence", sequence, options_.maxSequences))
        return false;
      if (n > 0 && sequence == input_.sequences[n - 1]) {
        if (position != input_.positions[n - 1] + 1)
          return fail("expected position " + std::to_string(input_.positions[n - 1] + 1) +
                      " to follow in sequence " + std::to_string(sequence) + " but got " +
                      std::to_string(position));
        if (input_.pageBegin[n] != input_.pageBegin[n - 1])
          return fail("expected one list of pages for sequence " + std::to_string(sequence));
      } else if (seen[size_t(sequence)]) {
        return fail("expected the tokens of sequence " + std::to_string(sequence) +
                    " to be adjacent");
      }
      seen[size_t(sequence)] = true;
      bool isLast = n + 1 == size_t(tokens_) || input_.sequences[n + 1] != sequence;
      if (isLast && !checkPages(n))
        return false;
    }
    return true;
  }

  /// The pages of a sequence whose last token in the step is `n`.
  bool checkPages(size_t n) {
    int64_t count = input_.positions[n] / model_.pageSize + 1, begin = input_.pageBegin[n];
    if (begin < 0 || begin + count > int64_t(input_.pages.size()))
      return fail("expected " + std::to_string(count) + " pages from entry " +
                  std::to_string(begin) + " on for sequence " +
                  std::to_string(input_.sequences[n]) + " but the table has " +
                  std::to_string(input_.pages.size()) + " entries");
    for (int64_t page = begin; page < begin + count; ++page)
      if (!expectBelow("a page", input_.pages[size_t(page)], options_.maxPages))
        return false;
    return true;
  }

  bool checkWanted() {
    int64_t wanted = int64_t(input_.wanted.size());
    if (wanted > options_.maxWanted)
      return fail("expected logits of at most " + std::to_string(options_.maxWanted) +
                  " tokens but got " + std::to_string(wanted));
    for (size_t i = 0; i < size_t(wanted); ++i) {
      if (!expectBelow("an index of a wanted token", input_.wanted[i], tokens_))
        return false;
      if (i > 0 && input_.wanted[i] <= input_.wanted[i - 1])
        return fail("expected the wanted tokens to be ascending");
    }
    return true;
  }

  const ModelDescription &model_;
  const ExecutorOptions &options_;
  const StepInput &input_;
  const StepOutput &output_;
  int64_t tokens_;
  Status status_;
};

} // namespace

Status checkStep(const ModelDescription &model, const ExecutorOptions &options,
                 const StepInput &input, const StepOutput &output) {
  return StepChecker(model, options, input, output).run();
}

} // namespace strata::rt
