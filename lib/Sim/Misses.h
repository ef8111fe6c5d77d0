//===- Misses.h - Which records are not in their hot sets -------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_MISSES_H
#define STRATA_LIB_SIM_MISSES_H

#include "strata/lib/Sim/StepFacts.h"
#include "strata/lib/Support/Status.h"
#include "strata/runtime/core/Executor.h"
#include "strata/runtime/core/SlotTable.h"

#include <optional>

namespace strata::sim {

/// Which indexer's rows each Resolve command looks up, by the command's number: followed from
/// Select and ImportRows through Records. An error if rows come from elsewhere.
Expected<std::map<uint32_t, int>> findResolvedIndexers(const package::Manifest &manifest);

/// Answers all Resolve commands of a decoding step from miss curves: the default of the group's
/// first layer, or `share` for all. `divisor` scales the misses. Of the records that speculation
/// brings (if the step has it and `speculates`) kGuessedRight are missing no more when their group
/// resolves its own.
void addExpectedMisses(const package::Manifest &manifest, std::optional<double> share,
                       double divisor, bool speculates, StepFacts &facts);
/// The lower one of two figures that were published simulations (others assume 80 %).
constexpr double kGuessedRight = 0.5;

/// Answers Resolve commands as the executor does, from the rows of a run.
class RowTrace {
public:
  static Expected<RowTrace> create(const package::Manifest &manifest);

  /// The facts of the next step. `rows` has one array [tokens, k] for each indexer.
  Expected<StepFacts> next(const rt::StepInput &input, const std::vector<const int32_t *> &rows);

private:
  explicit RowTrace(const package::Manifest &manifest) : manifest_(&manifest) {}

  const package::Manifest *manifest_;
  std::map<uint32_t, int> indexers_;
  std::vector<rt::SlotTable> tables_;
};

} // namespace strata::sim

#endif // STRATA_LIB_SIM_MISSES_H
