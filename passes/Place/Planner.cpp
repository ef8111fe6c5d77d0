//===- Planner.cpp - From a step to decisions that fit --------------------===//
#include "strata/passes/Place/Planner.h"

#include "strata/passes/Place/ArenaBytes.h"
#include "strata/passes/Place/MachineAttributes.h"
#include "strata/passes/Place/TierWriter.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <optional>

using namespace mlir;
using namespace strata;

/// What is set aside is found to this part of the capacity.
static constexpr uint64_t kPrecision = 512;

/// What may move, the most first.
static constexpr Movable kAllMovable[] = {Movable::All, Movable::AllButRows, Movable::Weights};

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
  /// Whether a plan with so much set aside fits; `planned` is what it would be.
  FailureOr<bool> tryPlan(PlannedStep &planned, uint64_t capacity, uint64_t setAside,
                          Movable movable);
  /// What the planner takes to be the least capacity; it doesn't know everything.
  FailureOr<uint64_t> getKnownLeast(Movable movable);
  /// A plan that fits, with as little set aside as possible; nothing if none is found.
  FailureOr<std::optional<PlannedStep>> search(uint64_t capacity, Movable movable);
  /// The plan that needs least.
  FailureOr<PlannedStep> findLeast();
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
    describeMachine(*copy, machine, sizes, planned.problem.capacity);
    TierWriter(copied, planned.decisions, planned.problem, machine, splitAttention).run();
  }
  return computeArenaBytes(*copy, sizes.tokens, sizes.batch);
}

FailureOr<uint64_t> Planner::decide(PlannedStep &planned, uint64_t capacity) {
  uint64_t bytes = 0;
  for (unsigned depth : {2, 1}) {
    planned.decisions = makeDecisions(model, planned.problem, planned.plan, machine, depth);
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

FailureOr<bool> Planner::tryPlan(PlannedStep &planned, uint64_t capacity, uint64_t setAside,
                                 Movable movable) {
  planned.problem = makeProblem(model, machine, sizes, capacity, wholeArena + setAside, movable);
  Expected<plan::Plan> made = plan::makePlan(planned.problem, machine);
  if (!made.ok() && made.status().code() == StatusCode::OutOfMemory)
    return false;
  if (!made.ok())
    return getStep().emitError() << made.status().message();
  planned.plan = std::move(*made);
  FailureOr<uint64_t> bytes = decide(planned, capacity);
  if (failed(bytes))
    return failure();
  return *bytes <= capacity;
}

FailureOr<uint64_t> Planner::getKnownLeast(Movable movable) {
  plan::Problem unlimited =
      makeProblem(model, machine, sizes, std::numeric_limits<int64_t>::max(), wholeArena, movable);
  Expected<plan::Plan> whole = plan::makePlan(unlimited, machine);
  if (!whole.ok())
    return getStep().emitError() << whole.status().message();
  return whole->leastCapacity;
}

FailureOr<PlannedStep> Planner::findLeast() {
  PlannedStep best;
  best.nearBytes = std::numeric_limits<uint64_t>::max();
  for (Movable movable : kAllMovable) {
    FailureOr<uint64_t> known = getKnownLeast(movable);
    if (failed(known))
      return failure();
    PlannedStep planned;
    if (failed(tryPlan(planned, *known, 0, movable)))
      return failure();
    if (planned.nearBytes < best.nearBytes)
      best = std::move(planned);
  }
  return best;
}

FailureOr<std::optional<PlannedStep>> Planner::search(uint64_t capacity, Movable movable) {
  PlannedStep planned;
  FailureOr<bool> fits = tryPlan(planned, capacity, 0, movable);
  if (failed(fits))
    return failure();
  if (*fits && !planned.decisions.movesAnything())
    return std::optional(std::move(planned));
  bool isFound = *fits;
  // With all that it can set aside the planner keeps nothing near that could move.
  FailureOr<uint64_t> known = getKnownLeast(movable);
  if (failed(known))
    return failure();
  uint64_t most = capacity - std::min(capacity, *known);
  PlannedStep best;
  fits = tryPlan(best, std::max(capacity, *known), most, movable);
  if (failed(fits))
    return failure();
  if (isFound)
    return std::optional(std::move(planned));
  if (best.nearBytes > capacity)
    return std::optional<PlannedStep>();
  uint64_t tooLittle = 0, enough = most;
  while (enough - tooLittle > std::max<uint64_t>(capacity / kPrecision, 1)) {
    uint64_t setAside = tooLittle + (enough - tooLittle) / 2;
    fits = tryPlan(planned, capacity, setAside, movable);
    if (failed(fits))
      return failure();
    (*fits ? enough : tooLittle) = setAside;
    if (*fits)
      best = std::move(planned);
  }
  return std::optional(std::move(best));
}

FailureOr<PlannedStep> Planner::plan(uint64_t capacity) {
  FailureOr<uint64_t> arena =
      computeArenaBytes(getStep()->getParentOfType<ModuleOp>(), sizes.tokens, sizes.batch);
  if (failed(arena))
    return failure();
  wholeArena = *arena;
  std::optional<PlannedStep> found;
  for (Movable movable : kAllMovable) {
    FailureOr<std::optional<PlannedStep>> searched = search(capacity, movable);
    if (failed(searched))
      return failure();
    found = std::move(*searched);
    if (found)
      break;
  }
  FailureOr<PlannedStep> leastStep = findLeast();
  if (failed(leastStep))
    return failure();
  uint64_t least = leastStep->nearBytes;
  if (!found && least <= capacity)
    found = std::move(*leastStep);
  if (found) {
    // What the planner did not know of.
    found->plan.nearBytes = found->nearBytes;
    found->plan.leastCapacity = least;
    return std::move(*found);
  }
  return getStep().emitError() << "can't be placed in " << describeBytes(capacity) << " of "
                               << machine.tiers.front().name << ": the least feasible size is "
                               << describeBytes(least) << " for steps of " << sizes.tokens
                               << " tokens, " << sizes.batch << " sequences and " << sizes.context
                               << " positions each";
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
