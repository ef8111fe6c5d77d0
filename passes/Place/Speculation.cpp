//===- Speculation.cpp - Rows that are fetched before they are known ------===//
#include "strata/passes/Place/Speculation.h"

#include "strata/lib/Plan/Transfers.h"

#include <cmath>

using namespace mlir;
using namespace strata;

/// What of an attention's time its scores take; the rest is softmax and values.
static constexpr double kScoresShare = 0.5;

namespace {

/// A group's transfers in a predicted step.
struct GroupTimes {
  int64_t known = 0;        ///< number of the op that makes the rows
  double kernelSeconds = 0; ///< of the leader's attention
  double leaderSeconds = 0; ///< of the leader's gather
  double allSeconds = 0;    ///< of all gathers
  double perRecord = 0;     ///< of one more record in all caches
  double perTransfer = 0;   ///< of a gather in each cache, apart from its records
};

} // namespace

static GroupTimes getTimes(const StepModel &model, const plan::Problem &problem,
                           const Machine &machine, const Decisions &decisions, unsigned number) {
  ProblemIndex index{unsigned(model.weights.size()), unsigned(model.caches.size())};
  const StepGroup &group = model.groups[number];
  double misses =
      plan::getExpectedMisses(problem, problem.groups[number], decisions.slotsOfGroup[number]);
  GroupTimes times;
  times.known = problem.groups[number].known;
  times.kernelSeconds =
      problem.commandSeconds[size_t(problem.buffers[index.ofCache(group.caches.front())].lastUse)];
  for (auto [place, cache] : llvm::enumerate(group.caches)) {
    int engine = decisions.engineOf[index.ofCache(cache)];
    uint64_t rowBytes = problem.buffers[index.ofCache(cache)].rowBytes;
    double seconds = plan::getRowsSeconds(machine, engine, misses, rowBytes);
    if (place == 0)
      times.leaderSeconds = seconds;
    times.allSeconds += seconds;
    double one = plan::getRowsSeconds(machine, engine, 1, rowBytes),
           two = plan::getRowsSeconds(machine, engine, 2, rowBytes);
    times.perRecord += two - one;
    times.perTransfer += one - (two - one);
  }
  return times;
}

/// Seconds of the reloads of weights and caches that are used between two ops.
static double getReloadSeconds(const plan::Problem &problem, const Machine &machine,
                               const Decisions &decisions, int64_t first, int64_t last) {
  double seconds = 0;
  for (auto [number, buffer] : llvm::enumerate(problem.buffers)) {
    int engine = decisions.engineOf[number];
    if (engine >= 0 && buffer.elsewhere != plan::Buffer::Elsewhere::Rows &&
        buffer.firstUse > first && buffer.firstUse <= last)
      seconds += plan::getSeconds(machine, engine, 1, double(buffer.bytesPerStep), 0);
  }
  return seconds;
}

void strata::decideSpeculation(const StepModel &model, const plan::Problem &problem,
                               const Machine &machine, Decisions &decisions) {
  decisions.speculation.assign(model.groups.size(), 0);
  for (unsigned number = 1; number < model.groups.size(); ++number) {
    const StepGroup &group = model.groups[number], &before = model.groups[number - 1];
    // Rows that are an argument are known when the step begins.
    if (!decisions.slotsOfGroup[number] || !decisions.slotsOfGroup[number - 1] ||
        isa<BlockArgument>(group.rows) || isa<BlockArgument>(before.rows))
      continue;
    GroupTimes now = getTimes(model, problem, machine, decisions, number - 1),
               next = getTimes(model, problem, machine, decisions, number);
    double misses =
        plan::getExpectedMisses(problem, problem.groups[number], decisions.slotsOfGroup[number]);
    double hits = 1 - misses / double(problem.tokens * group.k);
    if (next.leaderSeconds <= kScoresShare * hits * next.kernelSeconds || now.known >= next.known)
      continue;
    double idle = -now.allSeconds - next.perTransfer -
                  getReloadSeconds(problem, machine, decisions, now.known, next.known);
    for (int64_t op = now.known; op < next.known; ++op)
      idle += problem.commandSeconds[size_t(op)];
    double free = double(decisions.slotsOfGroup[number] - problem.tokens * group.k);
    double bound =
        std::min({std::ceil(misses), free, next.perRecord > 0 ? idle / next.perRecord : misses});
    decisions.speculation[number] = std::max<int64_t>(int64_t(bound), 0);
  }
}
