//===- Decisions.cpp - A plan, as what is written into a step -------------===//
#include "strata/passes/Place/Decisions.h"

#include "strata/passes/Place/Speculation.h"

#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace strata;

/// The runtime lets buffers of a tier begin at multiples of this.
static constexpr uint64_t kAlignment = 64;

bool Decisions::movesAnything() const {
  return !streamed.empty() || llvm::is_contained(isNear, false);
}

Decisions strata::makeDecisions(const StepModel &model, const plan::Problem &problem,
                                const plan::Plan &plan, const Machine &machine, unsigned depth) {
  ProblemIndex index{unsigned(model.weights.size()), unsigned(model.caches.size())};
  Decisions decisions;
  decisions.depth = depth;
  decisions.blockRecords = problem.blockRecords;
  for (const plan::Decision &decision : plan.decisions)
    decisions.engineOf.push_back(decision.isNear ? -1 : decision.engine);
  for (unsigned number = 0; number < model.caches.size(); ++number)
    decisions.isNear.push_back(plan.decisions[index.ofCache(number)].isNear);
  for (auto [number, group] : llvm::enumerate(model.groups)) {
    bool isNear = decisions.isNear[group.caches.front()];
    decisions.slotsOfGroup.push_back(isNear ? 0 : plan.slotsOfGroup[number]);
  }
  for (unsigned number = 0; number < model.weights.size(); ++number)
    if (!plan.decisions[index.ofWeight(number)].isNear)
      decisions.streamed.push_back(number);
  SmallVector<uint64_t> bytes;
  for (const StepWeight &weight : model.weights)
    bytes.push_back(weight.bytes);
  decisions.weightSlots = assignWeightSlots(model, bytes, decisions.streamed, depth);
  decideSpeculation(model, problem, machine, decisions);
  return decisions;
}

uint64_t strata::getNearBytes(const StepModel &model, const plan::Problem &problem,
                              const Decisions &decisions, const PlaceSizes &sizes) {
  ProblemIndex index{unsigned(model.weights.size()), unsigned(model.caches.size())};
  uint64_t bytes = 0;
  auto add = [&](uint64_t more) { bytes += llvm::alignTo(more, kAlignment); };
  llvm::SmallDenseSet<unsigned> streamed(decisions.streamed.begin(), decisions.streamed.end());
  for (unsigned number = 0; number < model.weights.size(); ++number)
    if (!streamed.contains(number))
      add(problem.buffers[index.ofWeight(number)].bytes);
  // As the problem counts them, which may be one device's part.
  SmallVector<uint64_t> weights;
  for (unsigned number = 0; number < model.weights.size(); ++number)
    weights.push_back(problem.buffers[index.ofWeight(number)].bytes);
  for (uint64_t slot : assignWeightSlots(model, weights, decisions.streamed, decisions.depth).bytes)
    add(slot);
  for (auto [number, group] : llvm::enumerate(model.groups))
    for (unsigned cache : group.caches)
      if (decisions.slotsOfGroup[number])
        add(getRecordBytes(model.caches[cache], decisions.slotsOfGroup[number]));
  std::set<std::pair<uint64_t, uint64_t>> pools, blocks; // of a kind of record, shared
  for (auto [number, cache] : llvm::enumerate(model.caches)) {
    uint64_t pool = problem.buffers[index.ofCache(number)].bytes;
    if (decisions.isNear[number]) {
      add(pool);
      continue;
    }
    uint64_t record = cache.type.getRecordBytes();
    if (cache.access == CacheAccess::Pages) {
      if (pools.insert({record, pool}).second)
        for (unsigned copy = 0; copy < decisions.depth; ++copy)
          add(pool);
      continue;
    }
    add(getRecordBytes(cache, sizes.tokens)); // the stage
    if (cache.access == CacheAccess::Stream && blocks.insert({record, 0}).second)
      for (int buffer = 0; buffer < 2; ++buffer)
        add(uint64_t(decisions.blockRecords) * record);
  }
  return bytes;
}
