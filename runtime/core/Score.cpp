//===- Score.cpp - How well a model predicts a text -----------------------===//
#include "strata/runtime/core/Score.h"

#include "strata/runtime/core/SessionPlan.h"
#include "strata/runtime/core/Trace.h"

#include <algorithm>
#include <cmath>

namespace strata::rt {

constexpr int64_t kBytes = 256;
constexpr int64_t kMaxLogitBytes = int64_t(64) << 20;

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

int64_t windowCount(int64_t bytes, int64_t window) {
  return std::max<int64_t>(0, bytes - 1) / window;
}

Status checkScore(const ModelDescription &model, std::string_view text,
                  const ScoreOptions &options) {
  if (model.vocabularySize != kBytes)
    return invalid("expected a vocabulary of the 256 bytes, which a text is scored by, but the "
                   "model's has " +
                   std::to_string(model.vocabularySize) + " entries");
  if (options.window < 1)
    return invalid("expected a window of at least 1 byte but got " +
                   std::to_string(options.window));
  if (options.window > model.maxPositions)
    return invalid("expected a window of at most " + std::to_string(model.maxPositions) +
                   " bytes, the model's positions, but got " + std::to_string(options.window));
  if (text.empty())
    return invalid("the text is empty");
  if (windowCount(int64_t(text.size()), options.window) == 0)
    return invalid("expected at least " + std::to_string(options.window + 1) +
                   " bytes, a window of " + std::to_string(options.window) +
                   " and the byte after it, but the text has " + std::to_string(text.size()));
  return Status::success();
}

void planScore(const ModelDescription &model, const ScoreOptions &options, int64_t windows,
               ExecutorOptions &limits) {
  int64_t logitRows = kMaxLogitBytes / (int64_t(sizeof(float)) * model.vocabularySize);
  int64_t chunk = std::min({options.chunk, kMaxStepTokens, std::max<int64_t>(1, logitRows)});
  limits.maxTokens = limits.maxWanted = std::min(chunk, windows * options.window);
  // A step may begin with the last token of one window and end with the first of another.
  limits.maxSequences =
      std::min(windows, (limits.maxTokens + options.window - 2) / options.window + 1);
  limits.maxPages = limits.maxSequences * pagesFor(model, options.window);
}

namespace {

/// Feeds the windows' tokens through the executor one after the other, cut into steps wherever a
/// step is full. So long windows go in chunks, and short ones side by side.
class Scorer {
public:
  Scorer(Executor &executor, const ExecutorOptions &limits, std::string_view text,
         const std::vector<int64_t> &windows, int64_t window, RecallSums *recall)
      : executor_(executor), model_(executor.model()), limits_(limits), text_(text),
        windows_(windows), window_(window), recall_(recall), sums_(windows.size(), 0) {
    logits_.resize(size_t(limits.maxTokens * model_.vocabularySize));
    for (int64_t width : model_.rowWidths)
      if (recall)
        rows_.emplace_back(size_t(limits.maxTokens * width));
  }

  Expected<std::vector<double>> run(ScoreStatistics &statistics);

private:
  StepInput compose(int64_t begin, int64_t end) const;
  Status add(const StepInput &input, int64_t begin);

  Executor &executor_;
  const ModelDescription &model_;
  const ExecutorOptions &limits_;
  std::string_view text_;
  const std::vector<int64_t> &windows_;
  int64_t window_;
  RecallSums *recall_;
  std::vector<double> sums_; ///< of each window
  std::vector<float> logits_;
  std::vector<std::vector<int32_t>> rows_; ///< of a step, for each indexer
};

} // namespace

/// Tokens `begin` to `end` of all windows' tokens. Windows take the slots in turn, each slot with
/// pages of its own: what is still in them from an earlier window lies beyond what is visible.
StepInput Scorer::compose(int64_t begin, int64_t end) const {
  StepInput input;
  int64_t pages = pagesFor(model_, window_);
  int32_t pageBegin = 0;
  for (int64_t token = begin; token < end; ++token) {
    int64_t number = token / window_, position = token % window_;
    int64_t slot = number % limits_.maxSequences;
    if (token == begin || position == 0) {
      pageBegin = int32_t(input.pages.size());
      for (int64_t page = 0; page < pages; ++page)
        input.pages.push_back(int32_t(slot * pages + page));
    }
    input.wanted.push_back(int32_t(token - begin));
    input.tokenIds.push_back(
        static_cast<unsigned char>(text_[size_t(windows_[number] * window_ + position)]));
    input.positions.push_back(int32_t(position));
    input.sequences.push_back(int32_t(slot));
    input.pageBegin.push_back(pageBegin);
  }
  return input;
}

/// −log softmax(logits)[target].
static double negativeLogLikelihood(const float *logits, int64_t target) {
  double largest = *std::max_element(logits, logits + kBytes);
  double sum = 0;
  for (int64_t id = 0; id < kBytes; ++id)
    sum += std::exp(double(logits[id]) - largest);
  return std::log(sum) + largest - double(logits[target]);
}

/// Takes the logits and rows of a step whose first token is number `begin` of all.
Status Scorer::add(const StepInput &input, int64_t begin) {
  for (int64_t i = 0; i < int64_t(input.tokenIds.size()); ++i) {
    int64_t number = (begin + i) / window_, position = input.positions[i];
    int64_t offset = windows_[number] * window_ + position;
    double loss = negativeLogLikelihood(logits_.data() + i * kBytes,
                                        static_cast<unsigned char>(text_[size_t(offset) + 1]));
    if (std::isnan(loss))
      return Status(StatusCode::Corrupt,
                    "the logits after byte " + std::to_string(offset) + " of the text are NaN");
    sums_[number] += loss;
    if (recall_ && recall_->counts(position))
      recall_->add(rows_, i);
  }
  return Status::success();
}

Expected<std::vector<double>> Scorer::run(ScoreStatistics &statistics) {
  auto started = Trace::Clock::now();
  int64_t tokens = int64_t(windows_.size()) * window_;
  for (int64_t begin = 0, steps = 0; begin < tokens; begin += limits_.maxTokens, ++steps) {
    StepInput input = compose(begin, std::min(tokens, begin + limits_.maxTokens));
    StepOutput output;
    output.logits = logits_.data();
    for (std::vector<int32_t> &rows : rows_)
      output.rows.push_back(rows.data());
    if (limits_.trace)
      limits_.trace->beginStep(steps, int64_t(input.tokenIds.size()));
    if (Status status = executor_.step(input, output); !status.ok())
      return status;
    statistics.nanScores += output.nanScores;
    if (Status status = add(input, begin); !status.ok())
      return status;
  }
  statistics.tokens += tokens;
  statistics.seconds += std::chrono::duration<double>(Trace::Clock::now() - started).count();
  std::vector<double> means;
  for (double sum : sums_)
    means.push_back(sum / double(window_));
  return means;
}

Expected<std::vector<double>> scoreWindows(Executor &executor, const ExecutorOptions &limits,
                                           std::string_view text,
                                           const std::vector<int64_t> &windows,
                                           const ScoreOptions &options, ScoreStatistics &statistics,
                                           RecallSums *recall) {
  return Scorer(executor, limits, text, windows, options.window, recall).run(statistics);
}

} // namespace strata::rt
