//===- PlaceRemarks.cpp - What was decided, and why -----------------------===//
#include "strata/passes/Place/PlaceRemarks.h"

#include "strata/lib/Analysis/LayerCuts.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace strata;

static remark::RemarkOpts placeRemark(StringRef name) {
  return remark::RemarkOpts::name(name).category(kPlaceCategory);
}

static void remarkGroups(const StepModel &model, const Machine &machine,
                         const PlannedStep &planned) {
  for (auto [number, group] : llvm::enumerate(model.groups)) {
    int64_t slots = planned.decisions.slotsOfGroup[number];
    if (!slots)
      continue;
    const StepCache &leader = model.caches[group.caches.front()];
    // Each sequence has its part of the slots.
    double slotsPerK = double(slots) / double(group.k * planned.problem.batch);
    double share = planned.problem.groups[number].misses.at(slotsPerK);
    double missBytes =
        share * double(planned.problem.tokens * group.k) * double(leader.type.getRecordBytes());
    remark::passed(leader.readers.front()->getLoc(), placeRemark("HotSet"))
        << llvm::formatv("{0}: hot sets of {1} records, homes in {2}; rows are resolved once for "
                         "{3} caches, and {4:F1} % of them are expected to be missing",
                         group.name, slots, machine.tiers[1].name, group.caches.size(), 100 * share)
               .str()
        << remark::metric("Slots", slots)
        << remark::metric("MissBytesPerCacheAndStep", int64_t(missBytes));
    if (int64_t limit = planned.decisions.speculation[number])
      remark::passed(leader.readers.front()->getLoc(), placeRemark("Speculation"))
          << llvm::formatv("{0}: up to {1} records are fetched with the rows of {2}", group.name,
                           limit, model.groups[number - 1].name)
                 .str();
  }
}

static void remarkCaches(const StepModel &model, const Machine &machine,
                         const PlannedStep &planned) {
  ProblemIndex index{unsigned(model.weights.size()), unsigned(model.caches.size())};
  for (auto [number, cache] : llvm::enumerate(model.caches)) {
    const plan::Buffer &buffer = planned.problem.buffers[index.ofCache(number)];
    Location location = cache.append ? cache.getAppend().getLoc() : model.getStep().getLoc();
    std::string where;
    if (planned.decisions.isNear[number])
      where = "whole in " + machine.tiers[0].name;
    else if (cache.access == CacheAccess::Rows)
      continue; // told with its group
    else if (cache.access == CacheAccess::Stream)
      where = llvm::formatv("home in {0}, streamed in blocks of {1} records", machine.tiers[1].name,
                            planned.decisions.blockRecords);
    else
      where = llvm::formatv("home in {0}, its pages are copied before use", machine.tiers[1].name);
    remark::passed(location, placeRemark("Cache"))
        << llvm::formatv("{0}: {1}", cache.name, where).str()
        << remark::metric("Bytes", int64_t(buffer.bytes));
  }
}

static void remarkWeights(const StepModel &model, const Machine &machine,
                          const PlannedStep &planned) {
  ProblemIndex index{unsigned(model.weights.size()), unsigned(model.caches.size())};
  uint64_t all = 0, streamed = 0;
  for (unsigned number = 0; number < model.weights.size(); ++number)
    all += planned.problem.buffers[index.ofWeight(number)].bytes;
  for (unsigned number : planned.decisions.streamed)
    streamed += planned.problem.buffers[index.ofWeight(number)].bytes;
  remark::passed(model.getStep().getLoc(), placeRemark("Weights"))
      << llvm::formatv("{0} of {1} weights stay in {2}, {3} come through {4} slots",
                       model.weights.size() - planned.decisions.streamed.size(),
                       model.weights.size(), machine.tiers[0].name,
                       planned.decisions.streamed.size(),
                       planned.decisions.weightSlots.bytes.size())
             .str()
      << remark::metric("NearBytes", int64_t(all - streamed))
      << remark::metric("StreamedBytesPerStep", int64_t(streamed))
      << remark::metric("SlotBytes", int64_t(planned.decisions.weightSlots.getBytes()));
}

void strata::remarkPlan(const StepModel &model, const Machine &machine, const PlannedStep &planned,
                        uint64_t capacity) {
  remarkGroups(model, machine, planned);
  remarkCaches(model, machine, planned);
  remarkWeights(model, machine, planned);
  const plan::Plan &plan = planned.plan;
  remark::analysis(model.getStep().getLoc(), placeRemark("Plan"))
      << llvm::formatv(
             "a step of {0} sequences with {1} positions each is predicted to take {2:F3} "
             "ms on {3}, of which {4:F3} ms wait for transfers; if all of them hid under work it "
             "would be {5:F3} ms, and no plan takes less than {6:F3} ms then ({7})",
             plan.batch, plan.context, 1e3 * plan.scheduledSeconds, machine.name,
             1e3 * plan.exposedSeconds, 1e3 * plan.stepSeconds, 1e3 * plan.lowerBound, plan.solver)
             .str()
      << remark::metric("Capacity", int64_t(capacity))
      << remark::metric("NearBytes", int64_t(plan.nearBytes))
      << remark::metric("LeastCapacity", int64_t(plan.leastCapacity));
  remark::analysis(model.getStep().getLoc(), placeRemark("ShadowPrices"))
      << llvm::formatv("+1 GB of {0} saves {1:F3} ms of a step, +10 GB/s of the link {2:F3} ms",
                       machine.tiers[0].name, 1e3 * plan.perGigabyte,
                       1e3 * plan.perTenGigabytesPerSecond)
             .str();
}

void strata::remarkCuts(func::FuncOp step, const Machine &machine) {
  int64_t stages = machine.partition.pipeline;
  if (stages < 2)
    return;
  AttentionLayers layers(step);
  SmallVector<LayerCut> cuts = findLayerCuts(step, layers);
  SmallVector<unsigned> starts = proposeStages(cuts, layers.getLayers().size(), unsigned(stages));
  for (const LayerCut &cut : cuts) {
    std::string text =
        llvm::formatv("a cut before layer {0} carries {1} bytes of activations for each token",
                      cut.layer, cut.getActivationBytesPerToken());
    if (!cut.rows.empty())
      text += llvm::formatv(" and {0} bytes of rows, since it divides a group",
                            cut.getRowBytesPerToken());
    if (!cut.caches.empty())
      text += "; it is impossible, since it divides a cache";
    if (cut.isSafe())
      text += "; it is safe";
    if (llvm::is_contained(starts, cut.layer))
      text += llvm::formatv("; one of {0} stages starts there", stages);
    remark::analysis(cut.first->getLoc(), placeRemark("PipelineCut")) << text;
  }
}
