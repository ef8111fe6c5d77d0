//===- Results.h - What strata-tune found, for people and programs -*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATATUNE_RESULTS_H
#define STRATA_TOOLS_STRATATUNE_RESULTS_H

#include "ScheduleSearch.h"

namespace strata::tune {

/// A search's result and what it was made from.
struct Results {
  std::string checkpoint, text;
  int64_t window = 0, windows = 0;
  double maxLoss = 0;
  int64_t context = 0; ///< tokens that `flops` are told for
  Matrix recall;
  SearchResult search;
  std::vector<double> flops; ///< of a decoded token, for each entry of the frontier

  const ScoredSchedule &chosen() const { return search.frontier[search.chosen]; }
  /// As strata-compile's --schedule takes it.
  std::string chosenSchedule() const { return "pattern:" + chosen().pattern; }
};

/// A line for each entry of the frontier, the chosen one marked.
std::string formatTable(const Results &results);

/// One object: the inputs, `frontier` (schedule, indexers, score, loss, flops), `chosen` and
/// `recall`.
std::string formatJson(const Results &results);

/// The frontier as a drawing: which layers lead, the loss against the limit and the FLOPs.
std::string drawSvg(const Results &results);
/// The drawing on a page of its own that needs nothing else.
std::string drawHtml(const Results &results);

} // namespace strata::tune

#endif // STRATA_TOOLS_STRATATUNE_RESULTS_H
