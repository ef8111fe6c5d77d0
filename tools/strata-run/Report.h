//===- Report.h - What strata-run says on standard error --------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_RUN_REPORT_H
#define STRATA_TOOLS_STRATA_RUN_REPORT_H

#include "strata/runtime/core/Score.h"
#include "strata/runtime/core/Session.h"

#include <chrono>

namespace strata::run {

/// A bar that fills up as tokens are processed. Shown on a terminal only, and gone at the end.
class ProgressBar {
public:
  ProgressBar();
  ~ProgressBar();
  void update(const rt::Session &session);

private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

/// Tokens and time of each phase, memory, and what a user should know of the results.
void printSummary(const rt::Session &session, const rt::Executor &executor);

/// The same after a text was scored.
void printScoreSummary(size_t windows, int64_t window, const rt::ScoreStatistics &statistics,
                       const rt::Executor &executor);

} // namespace strata::run

#endif // STRATA_TOOLS_STRATA_RUN_REPORT_H
