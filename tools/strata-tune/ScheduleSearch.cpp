//===- ScheduleSearch.cpp - Few indexers at a small loss ------------------===//
#include "ScheduleSearch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace strata::tune {

/// Runs on each level: of patterns less one indexer, and of patterns with one moved.
constexpr int64_t kRemovalsPerLevel = 2, kMovesPerLevel = 2;
/// Runners-up that are confirmed when the best of a level is over the limit on all windows.
constexpr size_t kRunnersUp = 2;
/// Losses on some windows up to this many times the limit may turn out to keep it.
constexpr double kNear = 2;

/// Ascending; equal ones by their letters, so that the same losses give the same search.
template <typename Key> static void sortBy(std::vector<std::string> &patterns, Key key) {
  std::sort(patterns.begin(), patterns.end(),
            [&](const std::string &left, const std::string &right) {
              double first = key(left), second = key(right);
              return first != second ? first < second : left < right;
            });
}

ScheduleSearch::ScheduleSearch(SearchInput input, RunSchedule run, Progress progress)
    : input_(std::move(input)), run_(std::move(run)), progress_(std::move(progress)),
      estimate_(input_.declared, input_.recall) {
  int64_t windows = int64_t(input_.baseline.size());
  int64_t some = std::min(input_.screening, windows);
  allWindows_.resize(size_t(windows));
  std::iota(allWindows_.begin(), allWindows_.end(), 0);
  // Spread over the text, so that they are like all of it.
  for (int64_t i = 0; i < some; ++i)
    someWindows_.push_back((2 * i + 1) * windows / (2 * some));
  tried_[input_.declared] = {input_.baseline, 0, true, 0};
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// A confirmation for each level is kept back.
bool ScheduleSearch::mayScreen() const { return runs_ + indexers() - 1 < indexers() * indexers(); }

Expected<double> ScheduleSearch::lossOn(const std::string &pattern,
                                        const std::vector<int64_t> &windows) {
  Tried &tried = tried_[pattern];
  if (tried.scores.empty())
    tried.scores.assign(allWindows_.size(), std::nan(""));
  std::vector<int64_t> missing;
  std::copy_if(windows.begin(), windows.end(), std::back_inserter(missing),
               [&](int64_t window) { return std::isnan(tried.scores[size_t(window)]); });
  if (!missing.empty()) {
    Expected<std::vector<double>> scores = run_(pattern, missing);
    if (!scores.ok())
      return scores.status();
    ++runs_;
    for (size_t i = 0; i < missing.size(); ++i)
      tried.scores[size_t(missing[i])] = (*scores)[i];
  }
  double sum = 0;
  for (int64_t window : windows)
    sum += tried.scores[size_t(window)] - input_.baseline[size_t(window)];
  double loss = sum / double(windows.size());
  if (!missing.empty())
    progress_(pattern, int64_t(windows.size()), loss, runs_);
  return loss;
}

Status ScheduleSearch::screen(const std::string &pattern) {
  Expected<double> loss = lossOn(pattern, someWindows_);
  if (!loss.ok())
    return loss.status();
  Tried &tried = tried_[pattern];
  tried.screened = *loss;
  if (someWindows_.size() == allWindows_.size()) {
    tried.confirmed = true;
    tried.loss = *loss;
  }
  return Status::success();
}

Status ScheduleSearch::confirm(const std::string &pattern) {
  if (tried_[pattern].confirmed)
    return Status::success();
  Expected<double> loss = lossOn(pattern, allWindows_);
  if (!loss.ok())
    return loss.status();
  Tried &tried = tried_[pattern];
  tried.confirmed = true;
  tried.loss = *loss;
  return Status::success();
}

Status ScheduleSearch::screenBest(std::vector<std::string> patterns, int64_t most) {
  sortBy(patterns, [&](const std::string &pattern) { return estimate_.of(pattern); });
  for (const std::string &pattern : patterns) {
    if (most == 0 || !mayScreen())
      break;
    if (tried_.count(pattern))
      continue;
    --most;
    if (Status status = screen(pattern); !status.ok())
      return status;
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

std::vector<std::string> ScheduleSearch::ranked(int64_t leaders) const {
  std::vector<std::string> patterns;
  for (const auto &[pattern, tried] : tried_)
    if (countLeaders(pattern) == leaders)
      patterns.push_back(pattern);
  sortBy(patterns, [&](const std::string &pattern) { return tried_.at(pattern).screened; });
  return patterns;
}

/// One indexer less. The first layer has none below whose rows it could use.
std::vector<std::string> ScheduleSearch::removals(const std::string &pattern) const {
  std::vector<std::string> result;
  for (size_t layer = 1; layer < pattern.size(); ++layer)
    if (pattern[layer] == 'F') {
      result.push_back(pattern);
      result.back()[layer] = 'S';
    }
  return result;
}

/// One leader for another.
std::vector<std::string> ScheduleSearch::moves(const std::string &pattern) const {
  std::vector<std::string> result;
  for (const std::string &fewer : removals(pattern))
    for (size_t layer = 1; layer < pattern.size(); ++layer)
      if (pattern[layer] == 'S' && input_.declared[layer] == 'F') {
        result.push_back(fewer);
        result.back()[layer] = 'F';
      }
  return result;
}

std::string ScheduleSearch::bestConfirmed(int64_t leaders) const {
  std::string best;
  for (const std::string &pattern : ranked(leaders)) {
    const Tried &tried = tried_.at(pattern);
    if (tried.confirmed && (best.empty() || tried.loss < tried_.at(best).loss))
      best = pattern;
  }
  return best;
}

int64_t ScheduleSearch::fewest() const {
  for (int64_t leaders = 1; leaders < indexers(); ++leaders)
    if (std::string best = bestConfirmed(leaders);
        !best.empty() && tried_.at(best).loss <= input_.maxLoss)
      return leaders;
  return indexers();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

Status ScheduleSearch::probeEach() {
  for (const std::string &pattern : removals(input_.declared)) {
    if (!mayScreen())
      break;
    if (Status status = screen(pattern); !status.ok())
      return status;
    auto [difference, end] = std::mismatch(pattern.begin(), pattern.end(), input_.declared.begin());
    // Differences below a hundredth of the limit are noise for this purpose.
    estimate_.learn(difference - pattern.begin(), tried_[pattern].screened,
                    std::max(input_.maxLoss / 100, 1e-6));
  }
  return Status::success();
}

Status ScheduleSearch::descend() {
  for (int64_t leaders = indexers() - 2; leaders >= 1; --leaders) {
    if (Status status = screenBest({estimate_.best(leaders)}, 1); !status.ok())
      return status;
    if (std::vector<std::string> above = ranked(leaders + 1); !above.empty())
      if (Status status = screenBest(removals(above.front()), kRemovalsPerLevel); !status.ok())
        return status;
    if (std::vector<std::string> here = ranked(leaders); !here.empty())
      if (Status status = screenBest(moves(here.front()), kMovesPerLevel); !status.ok())
        return status;
  }
  return Status::success();
}

/// The best of the level on all windows, since it stands in the frontier; and further ones that may
/// keep the limit as long as none does.
Status ScheduleSearch::confirmLevel(int64_t leaders) {
  std::vector<std::string> patterns = ranked(leaders);
  size_t count = std::min(patterns.size(), 1 + kRunnersUp);
  for (size_t i = 0; i < count && runs_ < indexers() * indexers(); ++i) {
    if (i > 0) {
      bool isNear = tried_[patterns[i]].screened <= kNear * input_.maxLoss;
      if (!isNear || !mayScreen() || tried_[bestConfirmed(leaders)].loss <= input_.maxLoss)
        break;
    }
    if (Status status = confirm(patterns[i]); !status.ok())
      return status;
  }
  return Status::success();
}

Status ScheduleSearch::confirmLevels() {
  for (int64_t leaders = indexers() - 1; leaders >= 1; --leaders)
    if (Status status = confirmLevel(leaders); !status.ok())
      return status;
  return Status::success();
}

Status ScheduleSearch::tryBelow() {
  while (fewest() > 1 && mayScreen()) {
    int64_t before = fewest();
    std::vector<std::string> patterns = ranked(before - 1);
    if (patterns.empty())
      break;
    if (Status status = screenBest(moves(patterns.front()), 2 * indexers()); !status.ok())
      return status;
    if (Status status = confirmLevel(before - 1); !status.ok())
      return status;
    if (fewest() == before)
      break;
  }
  return Status::success();
}

Expected<SearchResult> ScheduleSearch::search() {
  for (auto step : {&ScheduleSearch::probeEach, &ScheduleSearch::descend,
                    &ScheduleSearch::confirmLevels, &ScheduleSearch::tryBelow})
    if (Status status = (this->*step)(); !status.ok())
      return status;

  double baseline = std::accumulate(input_.baseline.begin(), input_.baseline.end(), 0.0) /
                    double(input_.baseline.size());
  SearchResult result;
  result.runs = runs_;
  for (int64_t leaders = indexers(); leaders >= 1; --leaders) {
    std::string best = leaders == indexers() ? input_.declared : bestConfirmed(leaders);
    if (best.empty())
      continue;
    if (leaders == fewest())
      result.chosen = result.frontier.size();
    double loss = tried_.at(best).loss;
    result.frontier.push_back({best, baseline + loss, loss});
  }
  return result;
}

} // namespace strata::tune
