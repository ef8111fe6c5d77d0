//===- SessionPlan.cpp - How much room prompts need -----------------------===//
#include "strata/runtime/core/SessionPlan.h"

#include <algorithm>
#include <limits>

namespace strata::rt {

/// Logits of one step: enough for good products, little beside the weights.
constexpr int64_t kMaxLogitBytes = int64_t(64) << 20;

static int64_t contextLimit(const ModelDescription &model, const SessionOptions &options) {
  return options.maxContext == 0 ? model.maxPositions
                                 : std::min(options.maxContext, model.maxPositions);
}

int64_t contextTokens(const ModelDescription &model, const SessionOptions &options,
                      int64_t promptTokens) {
  return std::min(promptTokens + options.maxNewTokens - 1, contextLimit(model, options));
}

int64_t pagesFor(const ModelDescription &model, int64_t tokens) {
  return (tokens + model.pageSize - 1) / model.pageSize;
}

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

Status checkPrompt(const ModelDescription &model, const SessionOptions &options,
                   const std::vector<int32_t> &tokens) {
  if (tokens.empty())
    return invalid("the prompt is empty");
  int64_t length = int64_t(tokens.size());
  if (length > model.maxPositions)
    return invalid("the prompt has " + std::to_string(length) + " tokens but the model has " +
                   std::to_string(model.maxPositions) + " positions");
  if (length > contextLimit(model, options))
    return invalid("the prompt has " + std::to_string(length) +
                   " tokens but the context is limited to " +
                   std::to_string(contextLimit(model, options)));
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= model.vocabularySize)
      return invalid("token id " + std::to_string(tokens[i]) + " at position " + std::to_string(i) +
                     " is outside the vocabulary of " + std::to_string(model.vocabularySize));
  return Status::success();
}

Status planExecutor(const ModelDescription &model, const SessionOptions &options,
                    const std::vector<int64_t> &promptTokens, ExecutorOptions &limits) {
  constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
  if (options.chunk < 1 || options.chunk > kMaxStepTokens)
    return invalid("expected a chunk of 1 to " + std::to_string(kMaxStepTokens) +
                   " tokens but got " + std::to_string(options.chunk));
  if (options.maxNewTokens < 1 || options.maxNewTokens > kMaxInt)
    return invalid("expected 1 to " + std::to_string(kMaxInt) + " new tokens but got " +
                   std::to_string(options.maxNewTokens));
  if (options.maxContext < 0)
    return invalid("expected a context of at least 1 token but got " +
                   std::to_string(options.maxContext));
  int64_t tokens = 0, pages = 0;
  for (int64_t length : promptTokens) {
    tokens += length;
    pages += pagesFor(model, options.maxContext == 0 ? contextTokens(model, options, length)
                                                     : contextLimit(model, options));
  }
  if (pages > kMaxInt)
    return invalid("the prompts need " + std::to_string(pages) +
                   " pages but there are numbers for " + std::to_string(kMaxInt));
  int64_t logitTokens = std::max<int64_t>(1, kMaxLogitBytes / (4 * model.vocabularySize));
  limits.maxSequences = std::max<int64_t>(1, int64_t(promptTokens.size()));
  limits.maxPages = std::max<int64_t>(1, pages);
  limits.maxTokens = std::max<int64_t>(1, std::min(options.chunk, tokens));
  limits.maxWanted =
      std::min(logitTokens, options.allLogits ? limits.maxTokens
                                              : std::min(limits.maxTokens, limits.maxSequences));
  return Status::success();
}

} // namespace strata::rt
