//===- Score.cpp - How well a compiled model predicts a text --------------===//
#include "Score.h"

#include "Model.h"
#include "Report.h"

#include "strata/runtime/core/Score.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>

namespace strata::run {

/// The recall matrix is measured on the first windows: more change its third digit.
constexpr int64_t kRecallWindows = 4;

static Status inFile(const std::string &path, const Status &status) {
  return status.ok() ? status : Status(status.code(), path + ": " + status.message());
}

/// The windows' scores. The first ones are scored with rows for `recall`, if that is asked for.
static Expected<std::vector<double>>
scoreAll(rt::Executor &executor, const rt::ExecutorOptions &limits, std::string_view text,
         const rt::ScoreOptions &options, rt::ScoreStatistics &statistics, rt::RecallSums *recall) {
  std::vector<int64_t> windows(size_t(rt::windowCount(int64_t(text.size()), options.window)));
  std::iota(windows.begin(), windows.end(), 0);
  auto middle = windows.begin() + std::min<int64_t>(kRecallWindows, int64_t(windows.size()));
  std::vector<double> scores;
  for (const std::vector<int64_t> &part : {std::vector<int64_t>(windows.begin(), middle),
                                           std::vector<int64_t>(middle, windows.end())}) {
    Expected<std::vector<double>> means = rt::scoreWindows(
        executor, limits, text, part, options, statistics, scores.empty() ? recall : nullptr);
    if (!means.ok())
      return means.status();
    scores.insert(scores.end(), means->begin(), means->end());
  }
  return scores;
}

/// The score, then the recall matrix as a JSON object: all of standard output.
static Status printResults(const std::vector<double> &scores, const rt::RecallSums *recall) {
  std::printf("%.5f\n", std::accumulate(scores.begin(), scores.end(), 0.0) / double(scores.size()));
  if (recall) {
    const char *separator = "{\"recall\": [[";
    for (const std::vector<double> &row : recall->matrix()) {
      for (size_t j = 0; j < row.size(); ++j)
        std::printf("%s%.5f", j == 0 ? separator : ", ", row[j]);
      separator = "],\n  [";
    }
    std::printf("]]}\n");
  }
  if (std::ferror(stdout) || std::fflush(stdout) != 0)
    return Status(StatusCode::Io, "writing to standard output failed");
  return Status::success();
}

Status score(const Options &options) {
  Expected<std::unique_ptr<Model>> model = Model::open(options.input, options.device);
  if (!model.ok())
    return model.status();
  const rt::ModelDescription &description = (*model)->description();
  Expected<MappedFile> text = MappedFile::open(options.score);
  if (!text.ok())
    return text.status();
  rt::ScoreOptions scoring;
  scoring.window = options.window;
  scoring.chunk = options.session.chunk;
  if (Status status = rt::checkScore(description, text->text(), scoring); !status.ok())
    return inFile(options.score, status);

  std::optional<rt::RecallSums> recall;
  if (options.recall) {
    Expected<rt::RecallSums> sums = rt::RecallSums::create(description);
    if (!sums.ok())
      return Status(sums.status().code(), "--recall: " + sums.status().message());
    if (options.window <= sums->width())
      return Status(StatusCode::InvalidArgument,
                    "--recall: expected a window of more than " + std::to_string(sums->width()) +
                        " bytes, the rows that an indexer chooses, but got " +
                        std::to_string(options.window));
    recall = std::move(*sums);
  }
  rt::ExecutorOptions limits;
  limits.memoryLimit = options.memoryLimit;
  limits.threads = options.threads;
  limits.poison = options.poison;
  limits.transferDelay = options.lateTransfers * 1000;
  rt::planScore(description, scoring, rt::windowCount(int64_t(text->size()), scoring.window),
                limits);

  Expected<Checkpoint> checkpoint = Checkpoint::open(options.weights);
  if (!checkpoint.ok())
    return checkpoint.status();
  Expected<std::unique_ptr<rt::Executor>> executor = (*model)->createExecutor(*checkpoint, limits);
  if (!executor.ok())
    return executor.status();
  rt::ScoreStatistics statistics;
  Expected<std::vector<double>> scores =
      scoreAll(**executor, limits, text->text(), scoring, statistics, recall ? &*recall : nullptr);
  if (!scores.ok())
    return inFile(options.score, scores.status());
  if (Status status = printResults(*scores, recall ? &*recall : nullptr); !status.ok())
    return status;
  printScoreSummary(scores->size(), options.window, statistics, **executor);
  return Status::success();
}

} // namespace strata::run
