//===- RetentionBound.cpp - What no plan of retention beats ---------------===//
//
// For one period, with all others unlimited: so many bytes must leave it. Those that are offloaded
// have gone before it and come back after it, so that what the links carry until then and from then
// on is free, and each further byte costs its stall. With divisible tensors the cheapest bytes
// are a plan that nothing beats.
//
//===----------------------------------------------------------------------===//
#include "strata/lib/Plan/RetentionBound.h"

#include "strata/lib/Plan/RetentionState.h"

#include <algorithm>
#include <numeric>

namespace strata::plan {

namespace {
/// Bytes that can leave a period at a price each.
struct Part {
  double price = 0, bytes = 0;
};
} // namespace

/// The cheapest way to have so many bytes gone; all parts together if they are too few.
static double getCheapest(std::vector<Part> parts, double bytes) {
  std::sort(parts.begin(), parts.end(),
            [](const Part &a, const Part &b) { return a.price < b.price; });
  double seconds = 0;
  for (const Part &part : parts) {
    double taken = std::min(part.bytes, bytes);
    seconds += taken * part.price;
    bytes -= taken;
    if (bytes <= 0)
      break;
  }
  return seconds;
}

double boundRetention(const RetentionProblem &problem) {
  RetentionState state(problem);
  double total = std::accumulate(problem.periodSeconds.begin(), problem.periodSeconds.end(), 0.0);
  double before = 0, bound = 0;
  for (size_t period = 0; period < problem.periodSeconds.size(); ++period) {
    double now = problem.periodSeconds[period];
    uint64_t bytes = state.getBytes(int64_t(period));
    if (bytes > problem.capacity) {
      std::vector<Part> parts;
      double offloadable = 0;
      for (const RetainedTensor &tensor : problem.tensors) {
        if (getFreedPeriods(problem, tensor, Retention::Offload).contains(int64_t(period)))
          offloadable += double(tensor.bytes);
        if (getFreedPeriods(problem, tensor, Retention::Recompute).contains(int64_t(period)) &&
            tensor.bytes)
          parts.push_back({tensor.recomputeSeconds / double(tensor.bytes), double(tensor.bytes)});
      }
      if (offloadable > 0) {
        // The price of a byte rises as one link is full, then the other.
        double outFree = std::min(offloadable, problem.outRate * before);
        double inFree = std::min(offloadable, problem.inRate * (total - before - now));
        bool isOutFirst = outFree < inFree;
        double first = std::min(outFree, inFree), second = std::max(outFree, inFree);
        parts.push_back({0, first});
        parts.push_back({1 / (isOutFirst ? problem.outRate : problem.inRate), second - first});
        parts.push_back({1 / problem.outRate + 1 / problem.inRate, offloadable - second});
      }
      bound = std::max(bound, getCheapest(parts, double(bytes - problem.capacity)));
    }
    before += now;
  }
  return bound;
}

} // namespace strata::plan
