//===- Planner.cpp - From a step to decisions that fit --------------------===//
#include "strata/passes/Place/Planner.h"

#include "strata/passes/Place/ArenaBytes.h"
#include "strata/passes/Place/TierWriter.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace strata;

/// More than this many corrections would mean that the planner goes back and forth.
static constexpr int kMostRounds = 12;

std::string strata::describeBytes(uint64_t bytes) {
  return llvm::formatv("{0} bytes ({1:F2} MiB)", bytes, double(bytes) / 0x1p20);
}

namespace {

class Planner {
public:
  Planner(const StepModel &model, const Machine &machine, const PlaceSizes &sizes,
          bool splitAttention)
      : model(model), machine(machine), sizes(sizes), splitAttention(splitAttention) {}

  FailureOr<PlannedStep> plan(uint64_t capacity);
  FailureOr<PlannedStep> follow(uint64_t capacity, const std::string &text,
                                const std::string &name);

private:
  func::FuncOp getStep() const { return model.getStep(); }
  /// Decisions of a plan, with as deep sets of slots as fit; their bytes with activations.
  FailureOr<uint64_t> decide(PlannedStep &planned, uint64_t capacity);
  /// Bytes of activations of the step when the decisions are written into it.
  FailureOr<uint64_t> getArenaBytes(const PlannedStep &planned);

  const StepModel &model;
  const Machine &machine;
  const PlaceSizes &sizes;
  bool splitAttention;
  uint64_t wholeArena = 0;
};

} // namespace

FailureOr<uint64_t> Planner::getArenaBytes(const PlannedStep &planned) {
  auto module = getStep()->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> copy = module.clone();
  if (planned.decisions.movesAnything()) {
    StepModel copied(copy->lookupSymbol<func::FuncOp>(getStep().getSymName()));
    TierWriter(copied, planned.decisions, planned.problem, machine, splitAttention).run();
  }
  if (planned.decisions.movesAnything())
    return 2 * wholeArena;
  return computeArenaBytes(*copy, sizes.tokens, sizes.batch);
}

FailureOr<uint64_t> Planner::decide(PlannedStep &planned, uint64_t capacity) {
  uint64_t bytes = 0;
  for (unsigned depth : {2, 1}) {
    planned.decisions = makeDecisions(model, planned.problem, planned.plan, depth);
    FailureOr<uint64_t> arena =
        planned.decisions.movesAnything() ? getArenaBytes(planned) : wholeArena;
    if (failed(arena))
      return failure();
    bytes = *arena + getNearBytes(model, planned.problem, planned.decisions, sizes);
    planned.arenaBytes = *arena;
    planned.nearBytes = bytes;
    if (bytes <= capacity || !planned.decisions.movesAnything())
      break;
  }
  return bytes;
}

FailureOr<PlannedStep> Planner::plan(uint64_t capacity) {
  FailureOr<uint64_t> arena =
      computeArenaBytes(getStep()->getParentOfType<ModuleOp>(), sizes.tokens, sizes.batch);
  if (failed(arena))
    return failure();
  wholeArena = *arena;
  uint64_t asked = capacity, setAside = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    PlannedStep planned;
    planned.problem = makeProblem(model, machine, sizes, asked, wholeArena + setAside);
    Expected<plan::Plan> made = plan::makePlan(planned.problem, machine);
    if (!made.ok() && made.status().code() != StatusCode::OutOfMemory)
      return getStep().emitError() << made.status().message();
    if (!made.ok()) {
      // The least one that the planner knows; what it doesn't know is found like for any other.
      plan::Problem unlimited = planned.problem;
      unlimited.capacity = std::numeric_limits<int64_t>::max();
      Expected<plan::Plan> whole = plan::makePlan(unlimited, machine);
      if (!whole.ok() || whole->leastCapacity <= asked)
        return getStep().emitError() << made.status().message();
      asked = whole->leastCapacity;
      continue;
    }
    planned.plan = std::move(*made);
    FailureOr<uint64_t> bytes = decide(planned, asked);
    if (failed(bytes))
      return failure();
    if (*bytes > asked) {
      // What the planner did not count.
      uint64_t counted = planned.plan.nearBytes;
      setAside += *bytes - std::min(counted, *bytes - 1);
      continue;
    }
    if (asked > capacity)
      return getStep().emitError()
             << "can't be placed in " << describeBytes(capacity) << " of "
             << machine.tiers.front().name << ": the least feasible size is "
             << describeBytes(asked) << " for steps of " << sizes.tokens << " tokens, "
             << sizes.batch << " sequences and " << sizes.context << " positions each";
    return planned;
  }
  return getStep().emitError() << "no plan was found for " << describeBytes(capacity) << " of "
                               << machine.tiers.front().name;
}

FailureOr<PlannedStep> Planner::follow(uint64_t capacity, const std::string &text,
                                       const std::string &name) {
  FailureOr<uint64_t> arena =
      computeArenaBytes(getStep()->getParentOfType<ModuleOp>(), sizes.tokens, sizes.batch);
  if (failed(arena))
    return failure();
  wholeArena = *arena;
  PlannedStep planned;
  planned.problem = makeProblem(model, machine, sizes, capacity, wholeArena);
  Expected<plan::Plan> read = plan::readPlan(planned.problem, text, name);
  if (!read.ok())
    return getStep().emitError() << read.status().message();
  planned.plan = std::move(*read);
  if (Status status = plan::checkPlan(planned.problem, machine, planned.plan); !status.ok())
    return getStep().emitError() << name << ": " << status.message();
  FailureOr<uint64_t> bytes = decide(planned, capacity);
  if (failed(bytes))
    return failure();
  if (*bytes > capacity)
    return getStep().emitError() << name << ": the plan needs " << describeBytes(*bytes) << " of "
                                 << machine.tiers.front().name << " but there are only "
                                 << describeBytes(capacity);
  return planned;
}

FailureOr<PlannedStep> strata::planStep(const StepModel &model, const Machine &machine,
                                        const PlaceSizes &sizes, uint64_t capacity,
                                        bool splitAttention) {
  return Planner(model, machine, sizes, splitAttention).plan(capacity);
}

FailureOr<PlannedStep> strata::followPlan(const StepModel &model, const Machine &machine,
                                          const PlaceSizes &sizes, uint64_t capacity,
                                          bool splitAttention, const std::string &text,
                                          const std::string &name) {
  return Planner(model, machine, sizes, splitAttention).follow(capacity, text, name);
}
