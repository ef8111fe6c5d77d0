//===- ScheduleSearch.h - Few indexers at a small loss ----------*- C++ -*-===//
//
// Measures schedules of a model and keeps the best with each number of indexers. With n indexers
// in the model there are 2^(n − 1) schedules; at most n² runs are spent:
//
//  1. All indexers, on all windows: what losses are counted from, and the recall matrix.
//  2. Each indexer taken away alone: how sensitive each layer is. From here on an estimate
//     (SharingEstimate.h) says which schedules are worth a run.
//  3. For n − 2, n − 3, … 1 indexers: the estimate's own choice, the best of the level above less
//     one indexer, and the best of this level with one indexer moved.
//  4. The best of each level again on all windows; one level below the result everything that is
//     one move away.
//
// Steps 2 and 3 use some of the windows only. Losses are means of differences window by window, so
// a few windows tell much.
//
//===----------------------------------------------------------------------===//
#ifndef STRATA_TOOLS_STRATATUNE_SCHEDULESEARCH_H
#define STRATA_TOOLS_STRATATUNE_SCHEDULESEARCH_H

#include "SharingEstimate.h"

#include "strata/lib/Support/Status.h"

#include <functional>
#include <map>

namespace strata::tune {

/// Runs a schedule, given as a pattern, on windows of the text: the mean negative log-likelihood of
/// each, in nats per byte.
using RunSchedule = std::function<Expected<std::vector<double>>(
    const std::string &pattern, const std::vector<int64_t> &windows)>;

struct SearchInput {
  std::string declared;         ///< the pattern with all indexers
  std::vector<double> baseline; ///< its score in each window; counts as one run
  Matrix recall;                ///< of its indexers
  double maxLoss = 0;           ///< nats per byte, at least 0
  int64_t screening = 4;        ///< windows of steps 2 and 3, at least 1
};

struct ScoredSchedule {
  std::string pattern;
  double score = 0; ///< nats per byte
  double loss = 0;  ///< against all indexers
};

struct SearchResult {
  /// The best schedule that was found with each number of indexers, on all windows; descending from
  /// all indexers.
  std::vector<ScoredSchedule> frontier;
  size_t chosen = 0; ///< the one with the fewest indexers that keeps the limit
  int64_t runs = 0;
};

class ScheduleSearch {
public:
  /// `progress` is told of each run: its windows, and the loss on them.
  using Progress =
      std::function<void(const std::string &pattern, int64_t windows, double loss, int64_t runs)>;

  ScheduleSearch(SearchInput input, RunSchedule run, Progress progress);

  /// The first error of a run ends the search.
  Expected<SearchResult> search();

private:
  /// What is known of a pattern: scores by window, NaN where it did not run.
  struct Tried {
    std::vector<double> scores;
    double screened = 0; ///< loss on the windows for screening
    bool confirmed = false;
    double loss = 0; ///< on all windows, if confirmed
  };

  int64_t indexers() const { return countLeaders(input_.declared); }
  bool mayScreen() const;
  /// Runs a pattern on windows that it has not run on yet, and gives its loss on all of `windows`.
  Expected<double> lossOn(const std::string &pattern, const std::vector<int64_t> &windows);
  Status screen(const std::string &pattern);
  Status confirm(const std::string &pattern);
  /// Runs the first `most` patterns, by their estimates, that did not run before.
  Status screenBest(std::vector<std::string> patterns, int64_t most);

  Status probeEach();
  Status descend();
  Status confirmLevel(int64_t leaders);
  Status confirmLevels();
  Status tryBelow();

  /// Patterns that have run with this many indexers, best first.
  std::vector<std::string> ranked(int64_t leaders) const;
  std::vector<std::string> removals(const std::string &pattern) const;
  std::vector<std::string> moves(const std::string &pattern) const;
  /// The best confirmed pattern with this many indexers; empty if there is none.
  std::string bestConfirmed(int64_t leaders) const;
  /// The fewest indexers that keep the limit.
  int64_t fewest() const;

  SearchInput input_;
  RunSchedule run_;
  Progress progress_;
  SharingEstimate estimate_;
  std::vector<int64_t> allWindows_, someWindows_;
  std::map<std::string, Tried> tried_;
  int64_t runs_ = 1;
};

} // namespace strata::tune

#endif // STRATA_TOOLS_STRATATUNE_SCHEDULESEARCH_H
