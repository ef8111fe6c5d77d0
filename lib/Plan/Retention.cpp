//===- Retention.cpp - Keep, offload or compute again ---------------------===//
#include "strata/lib/Plan/Retention.h"

#include "strata/lib/Plan/RetentionBound.h"
#include "strata/lib/Plan/RetentionPath.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace strata::plan {

/// How much it counts that tensors live for long: a path for each, and the best plan of all.
static constexpr double kSpanWeights[] = {0, 0.5, 1};

static constexpr uint64_t kGigabyte = 1000000000;
static constexpr double kTenGigabytesPerSecond = 1e10;

static Status check(const RetentionProblem &problem) {
  auto error = [](const std::string &text) { return Status(StatusCode::InvalidArgument, text); };
  auto periods = int64_t(problem.periodSeconds.size());
  for (double seconds : problem.periodSeconds)
    if (!(seconds >= 0) || std::isinf(seconds))
      return error("expected seconds of periods of at least 0 but got " + std::to_string(seconds));
  for (double rate : {problem.outRate, problem.inRate})
    if (!(rate >= 0) || std::isinf(rate))
      return error("expected rates of links of at least 0 but got " + std::to_string(rate));
  if (problem.window < 1)
    return error("expected a window of at least 1 period but got " +
                 std::to_string(problem.window));
  double bytes = 0;
  for (size_t i = 0; i < problem.tensors.size(); ++i) {
    const RetainedTensor &tensor = problem.tensors[i];
    std::string name = "tensor " + std::to_string(i);
    if (tensor.produced < 0 || tensor.used < tensor.produced || tensor.used >= periods)
      return error(name + ": expected periods in order and below " + std::to_string(periods) +
                   " but got " + std::to_string(tensor.produced) + " and " +
                   std::to_string(tensor.used));
    if (std::isnan(tensor.recomputeSeconds) || std::isinf(tensor.recomputeSeconds))
      return error(name + ": expected seconds of recomputing but got " +
                   std::to_string(tensor.recomputeSeconds));
    bytes += double(tensor.bytes);
  }
  // Sums of bytes are exact as doubles, too.
  if (bytes >= 0x1p53)
    return error("expected tensors of fewer than 2^53 bytes together but got " +
                 std::to_string(bytes));
  return Status::success();
}

namespace {

/// All the paths of a problem; none of them depends on its capacity.
class Paths {
public:
  explicit Paths(const RetentionProblem &problem) {
    for (double weight : kSpanWeights)
      paths.emplace_back(problem, weight);
  }
  uint64_t getLeastCapacity() const {
    uint64_t least = paths.front().getLeastCapacity();
    for (const RetentionPath &path : paths)
      least = std::min(least, path.getLeastCapacity());
    return least;
  }
  /// Nothing if none fits.
  std::optional<std::vector<Retention>> findBest(uint64_t capacity) const {
    const RetentionPath *bestPath = nullptr;
    RetentionPath::Member best;
    for (const RetentionPath &path : paths) {
      RetentionPath::Member member = path.findBest(capacity);
      if (member.seconds < 0 || (bestPath && best.seconds <= member.seconds))
        continue;
      bestPath = &path;
      best = member;
    }
    if (!bestPath)
      return std::nullopt;
    return bestPath->getChoices(best.count);
  }

private:
  std::vector<RetentionPath> paths;
};

} // namespace

Expected<RetentionPlan> planRetention(const RetentionProblem &problem) {
  if (Status status = check(problem); !status.ok())
    return status;
  Paths paths(problem);
  uint64_t least = paths.getLeastCapacity();
  if (problem.capacity < least)
    return Status(StatusCode::OutOfMemory, "expected at least " + std::to_string(least) +
                                               " bytes but there are " +
                                               std::to_string(problem.capacity));
  RetentionPlan plan = evaluateRetention(problem, *paths.findBest(problem.capacity));
  plan.leastCapacity = least;
  plan.lowerBound =
      std::accumulate(problem.periodSeconds.begin(), problem.periodSeconds.end(), 0.0) +
      boundRetention(problem);

  auto getSaved = [&](const RetentionProblem &other, const std::vector<Retention> &choices) {
    return std::max(0.0, plan.seconds - evaluateRetention(other, choices).seconds);
  };
  plan.perGigabyte = getSaved(problem, *paths.findBest(problem.capacity + kGigabyte));
  RetentionProblem faster = problem;
  faster.outRate += problem.outRate > 0 ? kTenGigabytesPerSecond : 0;
  faster.inRate += problem.inRate > 0 ? kTenGigabytesPerSecond : 0;
  // The plan itself may be better with faster links than those that are found for them.
  plan.perTenGigabytesPerSecond = getSaved(faster, plan.choices);
  if (auto choices = Paths(faster).findBest(problem.capacity))
    plan.perTenGigabytesPerSecond =
        std::max(plan.perTenGigabytesPerSecond, getSaved(faster, *choices));
  return plan;
}

} // namespace strata::plan
