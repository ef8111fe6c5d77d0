//===- Place.cpp - Where buffers lie and how they come --------------------===//
#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/lib/Plan/StackDistances.h"
#include "strata/lib/Support/File.h"
#include "strata/passes/Place/MachineAttributes.h"
#include "strata/passes/Place/Passes.h"
#include "strata/passes/Place/PlaceRemarks.h"
#include "strata/passes/Place/Planner.h"
#include "strata/passes/Place/SplitAttention.h"
#include "strata/passes/Place/TierWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace strata {
#define GEN_PASS_DEF_PLACE
#include "strata/passes/Place/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// Tokens of a step when nothing is said: what strata-run feeds at once.
static constexpr int64_t kDefaultTokens = 256;

static bool hasEngine(const Machine &machine, int from, int to) {
  return machine.findEngine(MachineEngine::Kind::Copy, from, to) >= 0 ||
         machine.findEngine(MachineEngine::Kind::Gather, from, to) >= 0;
}

/// Compute needs a near tier, and what lies elsewhere a way to it and back.
static LogicalResult checkMachine(Operation *op, const Machine &machine) {
  if (machine.tiers.size() < 2)
    return op->emitError() << "machine " << machine.name
                           << ": expected a near and a far tier but got "
                           << int64_t(machine.tiers.size());
  for (auto [from, to] : {std::pair(0, 1), std::pair(1, 0)})
    if (!hasEngine(machine, from, to))
      return op->emitError() << "machine " << machine.name << ": expected an engine from "
                             << machine.tiers[from].name << " to " << machine.tiers[to].name;
  return success();
}

/// Homes lie in the machine's second tier; this makes another one the second.
static Machine withFarTier(Machine machine, size_t far) {
  std::swap(machine.tiers[1], machine.tiers[far]);
  for (MachineEngine &engine : machine.engines)
    for (int *tier : {&engine.from, &engine.to})
      *tier = *tier == 1 ? int(far) : *tier == int(far) ? 1 : *tier;
  return machine;
}

namespace {

struct Place : strata::impl::PlaceBase<Place> {
  using PlaceBase::PlaceBase;

  void runOnOperation() override {
    if (failed(place()))
      signalPassFailure();
  }

private:
  LogicalResult place();
  FailureOr<PlaceSizes> getSizes();
  LogicalResult readTrace(func::FuncOp step, PlaceSizes &sizes);
  FailureOr<PlannedStep> makePlan(const StepModel &model, const Machine &machine,
                                  const PlaceSizes &sizes, uint64_t capacity);
  /// The same with homes in the nearest tier that has room for them, which becomes the second of
  /// `machine`.
  FailureOr<PlannedStep> makePlanWithRoom(const StepModel &model, Machine &machine,
                                          const PlaceSizes &sizes, uint64_t capacity);
  /// The bytes of what stays near, where the verifier of tiers adds them up.
  void describeNear(const StepModel &model, const PlannedStep &planned, const plan::Problem &whole);
};

} // namespace

FailureOr<PlaceSizes> Place::getSizes() {
  auto positions = getOperation()->getAttrOfType<IntegerAttr>(kMaxPositionsAttr);
  PlaceSizes sizes;
  sizes.context = context ? int64_t(context) : positions ? positions.getInt() : 1;
  sizes.batch = batch;
  sizes.tokens = tokens ? int64_t(tokens) : std::max<int64_t>(kDefaultTokens, batch);
  if (sizes.context < 1 || sizes.batch < 1 || sizes.tokens < sizes.batch)
    return getOperation().emitError()
           << "expected a context and a batch of at least 1, and at least a token for each "
              "sequence, but got context "
           << sizes.context << ", batch " << sizes.batch << " and tokens " << sizes.tokens;
  if (positions && sizes.context > positions.getInt())
    return getOperation().emitError()
           << "expected a context of at most the model's " << positions.getInt()
           << " positions but got " << sizes.context;
  return sizes;
}

LogicalResult Place::readTrace(func::FuncOp step, PlaceSizes &sizes) {
  if (trace.empty())
    return success();
  Expected<std::vector<plan::MissCurve>> curves = plan::readMissCurves(trace);
  if (!curves.ok())
    return step.emitError() << curves.status().message();
  size_t indexers = getIndexerRows(step).size();
  if (curves->size() != indexers)
    return step.emitError() << trace << ": expected the rows of " << indexers
                            << " indexers but got those of " << curves->size();
  sizes.misses = std::move(*curves);
  return success();
}

FailureOr<PlannedStep> Place::makePlan(const StepModel &model, const Machine &machine,
                                       const PlaceSizes &sizes, uint64_t capacity) {
  if (readPlan.empty())
    return planStep(model, machine, sizes, capacity, splitAttention);
  Expected<MappedFile> file = MappedFile::open(readPlan);
  if (!file.ok())
    return getOperation().emitError() << file.status().message();
  return followPlan(model, machine, sizes, capacity, splitAttention, std::string(file->text()),
                    readPlan);
}

FailureOr<PlannedStep> Place::makePlanWithRoom(const StepModel &model, Machine &machine,
                                               const PlaceSizes &sizes, uint64_t capacity) {
  const Machine described = machine;
  Machine single = machine;
  single.partition = {};
  std::string rooms;
  for (size_t far = 1; far < described.tiers.size(); ++far) {
    if (!hasEngine(described, int(far), 0) || !hasEngine(described, 0, int(far)))
      continue;
    machine = withFarTier(described, far);
    FailureOr<PlannedStep> planned = makePlan(model, machine, sizes, capacity);
    if (failed(planned))
      return failure();
    plan::Problem whole = makeProblem(model, single, sizes, capacity, planned->arenaBytes);
    uint64_t room = machine.tiers[1].capacity * uint64_t(machine.devices), homes = 0;
    for (const plan::Decision &decision : planned->plan.decisions)
      if (!decision.isNear)
        homes += whole.buffers[decision.buffer].bytes;
    if (homes <= room)
      return planned;
    rooms += (rooms.empty() ? "" : ", and ") + describeBytes(homes) + " of " +
             machine.tiers[1].name + " but there are " + describeBytes(room);
  }
  return getOperation().emitError() << "homes of what moves need " << rooms;
}

void Place::describeNear(const StepModel &model, const PlannedStep &planned,
                         const plan::Problem &whole) {
  Builder builder(&getContext());
  ProblemIndex index{unsigned(model.weights.size()), unsigned(model.caches.size())};
  DenseMap<Operation *, uint64_t> bytes; // an op may be two weights: as stored, and widened
  for (unsigned number = 0; number < model.weights.size(); ++number)
    if (!llvm::is_contained(planned.decisions.streamed, number))
      bytes[model.weights[number].op] += whole.buffers[index.ofWeight(number)].bytes;
  for (auto [op, count] : bytes)
    op->setAttr("tier.bytes", builder.getI64IntegerAttr(int64_t(count)));
  model.getStep()->setAttr("tier.workspace",
                           builder.getI64IntegerAttr(int64_t(planned.arenaBytes)));
}

LogicalResult Place::place() {
  ModuleOp module = getOperation();
  if (failed(checkSplitAttention(module, splitAttention, allowApproximate)))
    return failure();
  auto step = module.lookupSymbol<func::FuncOp>(kEntryPoint);
  if (!step || step.isExternal() || !step.getBody().hasOneBlock())
    return module.emitError() << "expected a function @step with one block but there is none";
  if (module->hasAttr("tier.machine"))
    return module.emitError() << "expected a module that is not placed yet";
  Expected<Machine> machine = findMachine(machineName);
  if (!machine.ok())
    return module.emitError() << machine.status().message();
  if (failed(checkMachine(module, *machine)))
    return failure();
  FailureOr<PlaceSizes> sizes = getSizes();
  if (failed(sizes) || failed(readTrace(step, *sizes)))
    return failure();
  uint64_t capacity = nearBytes ? uint64_t(nearBytes) : machine->tiers.front().capacity;

  StepModel model(step);
  FailureOr<PlannedStep> planned = makePlanWithRoom(model, *machine, *sizes, capacity);
  if (failed(planned))
    return failure();
  if (!writePlan.empty()) {
    Status status = writeFile(writePlan, plan::writePlan(planned->problem, planned->plan));
    if (!status.ok())
      return module.emitError() << status.message();
  }
  remarkPlan(model, *machine, *planned, capacity);
  remarkCuts(step, *machine);
  // On several devices the plan is one device's, but types and ops are the whole model's.
  Machine single = *machine;
  single.partition = {};
  plan::Problem whole = makeProblem(model, single, *sizes, capacity, planned->arenaBytes);
  uint64_t wholeBytes =
      planned->arenaBytes + getNearBytes(model, whole, planned->decisions, *sizes);
  describeMachine(module, *machine, *sizes, std::max(capacity, wholeBytes));
  describeNear(model, *planned, whole);
  if (planned->decisions.movesAnything())
    TierWriter(model, planned->decisions, planned->problem, *machine, splitAttention).run();
  return success();
}
