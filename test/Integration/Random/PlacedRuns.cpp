//===- PlacedRuns.cpp - A model within budgets of near memory -------------===//
#include "PlacedRuns.h"

#include "Comparison.h"

#include "strata/runtime/core/TierCounters.h"

#include <algorithm>
#include <cstdlib>

namespace strata::test {

/// Nanoseconds that a transfer begins late, at most.
static constexpr int64_t kMostDelay = 50000;

namespace {

class PlacedRuns {
public:
  PlacedRuns(const RandomCase &randomCase, const TestedModel &model, const RunResults &expected,
             Coverage &coverage)
      : case_(randomCase), model_(model), expected_(expected), coverage_(coverage),
        random_(randomCase.placementSeed) {}
  std::string run();

private:
  void drawPlans();
  /// The least feasible budget; an error if it is not told as it should be.
  Expected<uint64_t> findLeast();
  std::string compareBudget(uint64_t budget);
  std::string comparePlan(const TestedModel &placed, uint64_t budget, const StepPlan &plan,
                          const Imports &imports);

  const RandomCase &case_;
  const TestedModel &model_;
  const RunResults &expected_;
  Coverage &coverage_;
  RandomNumbers random_;
  std::vector<StepPlan> plans_;
  PlacementOptions placement_;
  bool fuse_ = true;
};

} // namespace

/// Token by token, so that all logits are there, and one that is like prefill. A package has room
/// for the logits of one token of each sequence.
void PlacedRuns::drawPlans() {
  plans_ = {planChunks(case_.batch, {1}), case_.randomPlan};
  if (random_.chance(50))
    plans_.back() = random_.chance(50) ? planAlone(case_.batch) : planOneShot(case_.batch);
  for (StepPlan &plan : plans_) {
    plan.mostWanted = int64_t(case_.batch.size());
    plan.seed = random_.next();
    StepBuilder builder(case_.batch, plan, case_.model.pageSize);
    int64_t sequences = int64_t(case_.batch.size());
    int64_t pages = (builder.pages() + sequences - 1) / sequences;
    placement_.context = std::max(placement_.context, pages * case_.model.pageSize);
    placement_.tokens = std::max({placement_.tokens, builder.maxTokens(), sequences});
    placement_.batch = sequences;
  }
  placement_.machine = "cpu-two-tier";
  fuse_ = !random_.chance(20);
}

Expected<uint64_t> PlacedRuns::findLeast() {
  uint64_t least = 0;
  for (uint64_t budget : {uint64_t(0), uint64_t(1)}) {
    placement_.nearBytes = budget == 0 ? 1 : least - 1;
    Expected<std::unique_ptr<TestedModel>> refused = model_.withPlacement(placement_, fuse_);
    std::string message = refused.ok() ? "no error" : refused.status().message();
    const std::string text = "the least feasible size is ";
    size_t place = message.find(text);
    uint64_t found =
        place == std::string::npos ? 0 : std::strtoull(&message[place + text.size()], nullptr, 10);
    if (found == 0 || (least != 0 && found != least))
      return Status(StatusCode::InvalidArgument,
                    "within " + std::to_string(placement_.nearBytes) +
                        " bytes: expected a message with the least feasible size" +
                        (least == 0 ? "" : ", " + std::to_string(least) + ",") + " but got " +
                        message);
    least = found;
  }
  return least;
}

std::string PlacedRuns::comparePlan(const TestedModel &placed, uint64_t budget,
                                    const StepPlan &plan, const Imports &imports) {
  ++coverage_[Coverage::PlacedRuns];
  StepBuilder builder(case_.batch, plan, case_.model.pageSize);
  rt::ExecutorOptions options = limitsFor(case_.batch, builder, random_.chance(30) ? 2 : 1);
  options.maxWanted = plan.mostWanted;
  options.transferDelay = random_.chance(50) ? kMostDelay : 0;
  auto executor = placed.createCpu(options);
  if (!executor.ok())
    return executor.status().message();
  Expected<RunResults> results = runPlan(**executor, placed, case_.batch, plan, builder, imports);
  if (!results.ok())
    return results.status().message();
  const rt::TierCounters *counters = (*executor)->tierCounters();
  if (!counters)
    return "expected that a package for two tiers counts what moves";
  if (counters->tiers[0].peakBytes > budget)
    return "near memory held " + std::to_string(counters->tiers[0].peakBytes) + " bytes";
  int64_t moved = 0;
  for (const rt::TierCounters::Engine &engine : counters->engines)
    moved += int64_t(engine.bytesToNear);
  coverage_[Coverage::PlacedNear] += moved == 0;
  coverage_[Coverage::PlacedBytes] += moved;
  coverage_[Coverage::PlacedHits] += int64_t(counters->hits);
  coverage_[Coverage::PlacedMisses] += int64_t(counters->misses);
  coverage_[Coverage::PlacedOwn] += int64_t(counters->ownRecords);
  return compareBits(model_, expected_, *results);
}

std::string PlacedRuns::compareBudget(uint64_t budget) {
  placement_.nearBytes = budget;
  Expected<std::unique_ptr<TestedModel>> placed = model_.withPlacement(placement_, fuse_);
  if (!placed.ok())
    return placed.status().message();
  for (const StepPlan &plan : plans_) {
    std::string difference = comparePlan(**placed, budget, plan, {});
    if (!difference.empty())
      return plan.name + ": " + difference;
  }
  if (case_.replayedChoices == 0)
    return "";
  ++coverage_[Coverage::PlacedReplays];
  std::string difference =
      comparePlan(**placed, budget, plans_.front(), {&expected_, case_.replayedChoices});
  return difference.empty() ? "" : "with its own choices imported: " + difference;
}

std::string PlacedRuns::run() {
  ++coverage_[Coverage::PlacedModels];
  drawPlans();
  Expected<uint64_t> least = findLeast();
  if (!least.ok())
    return least.status().message();
  // Eight times the least holds most models whole.
  for (uint64_t percent : {uint64_t(100), random_.oneOf<uint64_t>({101, 110, 130, 170}),
                           random_.oneOf<uint64_t>({200, 300, 800})}) {
    uint64_t budget = *least * percent / 100;
    if (std::string difference = compareBudget(budget); !difference.empty())
      return "cpu, within " + std::to_string(budget) + " bytes (least: " + std::to_string(*least) +
             ")" + (fuse_ ? "" : ", without fusion") + ": " + difference;
  }
  return "";
}

std::string comparePlaced(const RandomCase &randomCase, const TestedModel &model,
                          const RunResults &expected, Coverage &coverage) {
  return PlacedRuns(randomCase, model, expected, coverage).run();
}

} // namespace strata::test
