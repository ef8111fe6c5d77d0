//===- Pipelines.cpp - The order of passes --------------------------------===//
//
// The only file that orders passes. Each phase ends with its verifier.
//
//===----------------------------------------------------------------------===//
#include "strata/Pipeline.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Fuse/Passes.h"
#include "strata/passes/Lower/Passes.h"
#include "strata/passes/Place/Passes.h"
#include "strata/passes/Share/Passes.h"
#include "strata/passes/Verify/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace strata;

ArrayRef<Phase> strata::getPhases() {
  static const Phase phases[] = {Phase::Input, Phase::Share, Phase::Fuse,
                                 Phase::Place, Phase::Lower, Phase::Emit};
  return phases;
}

StringRef strata::getPhaseName(Phase phase) {
  switch (phase) {
  case Phase::Input:
    return "input";
  case Phase::Share:
    return "share";
  case Phase::Fuse:
    return "fuse";
  case Phase::Place:
    return "place";
  case Phase::Lower:
    return "lower";
  case Phase::Emit:
    return "emit";
  }
  llvm_unreachable("a phase without a name");
}

std::optional<Phase> strata::getPhaseByName(StringRef name) {
  for (Phase phase : getPhases())
    if (getPhaseName(phase) == name)
      return phase;
  return std::nullopt;
}

static StringRef getFormatName(NumberFormat format) {
  return format == NumberFormat::F32 ? "f32" : "bf16";
}

static void verifyPhase(OpPassManager &manager, Phase phase) {
  manager.addPass(createVerifyPhase({getPhaseName(phase).str()}));
}

static std::string getApproximationName(Approximation approximation) {
  switch (approximation) {
  case Approximation::Sharing:
    return "sharing";
  case Approximation::SplitRounding:
    return "split-rounding";
  }
  llvm_unreachable("an approximation without a name");
}

/// The name of an approximation where it is allowed: what a pass takes that knows this one alone.
static SmallVector<std::string> getAllowed(const PipelineOptions &options,
                                           Approximation approximation) {
  if (!llvm::is_contained(options.allowed, approximation))
    return {};
  return {getApproximationName(approximation)};
}

static void buildShare(OpPassManager &manager, const PipelineOptions &options) {
  // First, since only a strata.select has rows that can be shared.
  manager.addPass(createJoinSelect());
  ShareIndexOptions sharing;
  sharing.schedule = options.schedule;
  sharing.allowApproximate = getAllowed(options, Approximation::Sharing);
  manager.addPass(createShareIndex(sharing));
  // Only the indexers that are left have rows that go in or out.
  if (options.importRows)
    manager.addPass(createImportRows());
  if (options.exportRows)
    manager.addPass(createExportRows());
  verifyPhase(manager, Phase::Share);
}

void strata::buildFormats(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createSetFormats({getFormatName(options.compute).str(),
                                    getFormatName(options.cache).str(), options.pageSize}));
}

static void buildFuse(OpPassManager &manager, const PipelineOptions &options) {
  // Ops that do nothing would become kernels that copy; equal weights and sizes would be named
  // twice.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Parts can run with neighbours that the whole can't run with.
  manager.addPass(createSplitFeedForward());
  if (options.fuse)
    manager.addPass(createFuseKernels());
  verifyPhase(manager, Phase::Fuse);
}

static void buildPlace(OpPassManager &manager, const PipelineOptions &options) {
  const PlacementOptions &placement = options.placement;
  if (!placement.machine.empty()) {
    // Formats first: they say how large a record is.
    buildFormats(manager, options);
    PlaceOptions place;
    place.machineName = placement.machine;
    place.nearBytes = placement.nearBytes;
    place.context = placement.context;
    place.batch = placement.batch;
    place.tokens = placement.tokens;
    place.trace = placement.trace;
    place.readPlan = placement.readPlan;
    place.writePlan = placement.writePlan;
    place.splitAttention = options.splitAttention;
    place.allowApproximate = getAllowed(options, Approximation::SplitRounding);
    manager.addPass(createPlace(place));
    // Apart from the decisions, so that a plan changes what moves and not how early.
    manager.addPass(createScheduleTransfers());
    manager.addPass(createTierVerify());
  }
  verifyPhase(manager, Phase::Place);
}

static void buildLower(OpPassManager &manager, const PipelineOptions &options) {
  // Formats first: what bf16 rounds decides which kernels there are.
  buildFormats(manager, options);
  manager.addPass(createLowerToCommands());
  // Last, since it must know every buffer.
  manager.addPass(createPlanArena());
  verifyPhase(manager, Phase::Lower);
}

void strata::buildPipeline(OpPassManager &manager, const PipelineOptions &options, Phase from,
                           Phase to) {
  verifyPhase(manager, from == Phase::Emit ? Phase::Lower
                                           : from); // what is taken up again may come from a person
  if (from < Phase::Share && to >= Phase::Share)
    buildShare(manager, options);
  if (from < Phase::Fuse && to >= Phase::Fuse)
    buildFuse(manager, options);
  if (from < Phase::Place && to >= Phase::Place)
    buildPlace(manager, options);
  if (from < Phase::Lower && to >= Phase::Lower)
    buildLower(manager, options);
}

NumberFormat strata::getDefaultFormat(ModuleOp module) {
  auto result = module.walk([](WeightOp weight) {
    bool isNarrow = weight.getStored().isBF16() || weight.getStoredBits() < 16;
    return isNarrow ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted() ? NumberFormat::BF16 : NumberFormat::F32;
}
