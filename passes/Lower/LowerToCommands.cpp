//===- LowerToCommands.cpp - From ops on tensors to commands on buffers ---===//
#include "strata/passes/Lower/Passes.h"
#include "strata/passes/Lower/StepLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace strata {
#define GEN_PASS_DEF_LOWERTOCOMMANDS
#include "strata/passes/Lower/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

StepLowering::StepLowering(func::FuncOp oldStep, func::FuncOp newStep, ModuleOp kernels,
                           Type compute)
    : oldStep(oldStep), newStep(newStep), kernels(kernels), compute(compute),
      f32(Float32Type::get(kernels.getContext())),
      commands(OpBuilder::atBlockEnd(&newStep.getBody().front()), newStep.getArgument(0)),
      tiers(newStep, commands) {}

LogicalResult StepLowering::run() {
  for (auto [before, after] : llvm::zip(oldStep.getArguments(), newStep.getArguments())) {
    if (isa<tier::AtType>(before.getType()))
      tiers.takeHome(before, int64_t(after.getArgNumber()) - 1);
    else
      commands.map(before, after);
  }
  // The lowered step has no tables, hot sets and rows among its arguments: commands name the ones
  // and take the others.
  for (BlockArgument argument : oldStep.getArguments().drop_front(newStep.getNumArguments()))
    if (!tiers.takeArgument(argument))
      importRows(argument);
  if (failed(lowerBlock(oldStep.getBody().front())))
    return failure();
  tiers.finish(oldStep->getParentOfType<ModuleOp>());
  return success();
}

LogicalResult StepLowering::lowerBlock(Block &block) {
  Block &lowered = newStep.getBody().front();
  for (Operation &op : block) {
    commands.setSource(&op);
    Operation *last = lowered.empty() ? nullptr : &lowered.back();
    if (failed(checkShapes(&op)) || failed(lower(&op)))
      return failure();
    // A kernel says what all its ops cost.
    if (op.getParentOp() == oldStep)
      costs.attach(&op, last ? last->getNextNode() : lowered.empty() ? nullptr : &lowered.front());
  }
  return success();
}

LogicalResult StepLowering::mapTo(Operation *op, Value lowered) {
  commands.map(op->getResult(0), lowered);
  return success();
}

/// Rows stand for tokens, so the first dimension of every tensor but weights is dynamic, and the
/// others are known.
LogicalResult StepLowering::checkShapes(Operation *op) {
  if (isa<WeightOp>(op) || isa<tier::TierDialect>(op->getDialect()))
    return success();
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (tensor.getRank() == 0 || !tensor.isDynamicDim(0) || tensor.getNumDynamicDims() != 1 ||
          tensor.getRank() > 3)
        return op->emitOpError() << "can't be lowered: expected a tensor of rank 1 to 3 whose "
                                    "first dimension alone is "
                                    "dynamic but got "
                                 << tensor;
  return success();
}

LogicalResult StepLowering::lower(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<TokenIdsOp>(
          [&](auto op) { return mapTo(op, commands.getStepArray(StepArray::TokenIds)); })
      .Case<PositionsOp>(
          [&](auto op) { return mapTo(op, commands.getStepArray(StepArray::Positions)); })
      .Case<WeightOp>(
          [&](auto op) { return mapTo(op, commands.getBuilder().clone(*op)->getResult(0)); })
      .Case<EmbeddingOp, LinearOp, HeadLinearOp, LogitsOp, RmsNormOp, LayerNormOp, RopeOp,
            HadamardOp, GatedLinearOp, RouteOp, ExpertOutputsOp, CombineExpertsOp, AppendOp,
            SelectOp, RecordsOp, AttentionOp, arith::AddFOp, arith::MulFOp, arith::ConstantOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractSliceOp,
            tensor::ConcatOp, KernelOp, YieldOp, func::ReturnOp>(
          [&](auto op) { return lowerOp(op); })
      .Case<tier::ResolveOp, tier::SpeculateOp, tier::SlotsOp, tier::SplitOp, tier::GatherOp,
            tier::WaitOp, tier::ViewOp, tier::PresentOp, tier::HomeOp, tier::StageOp,
            tier::WriteBackOp, tier::SlotOp, tier::ReloadOp, tier::ReleaseOp, tier::StreamOp>(
          [&](auto op) { return tiers.lowerOp(op); })
      // Only reshapes use sizes, and views know theirs; the runtime knows what a step writes.
      .Case<tensor::DimOp, OwnRecordsOp>([&](auto) { return success(); })
      .Default([](Operation *op) { return op->emitOpError() << "can't be lowered for the CPU"; });
}

LogicalResult StepLowering::lowerOp(arith::ConstantOp op) {
  if (op.getType().isIndex())
    return success();
  return op.emitOpError() << "can't be lowered: expected numbers to be weights of the checkpoint";
}

LogicalResult StepLowering::lowerOp(func::ReturnOp op) {
  func::ReturnOp::create(commands.getBuilder(), op.getLoc(), get(op.getOperand(0)));
  return success();
}

namespace {

struct LowerToCommands : strata::impl::LowerToCommandsBase<LowerToCommands> {
  using LowerToCommandsBase::LowerToCommandsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto step = module.lookupSymbol<func::FuncOp>("step");
    if (!step || step.isExternal() || step.getNumResults() == 0) {
      module.emitError() << "expected a function @step that returns logits";
      return signalPassFailure();
    }
    auto logits = dyn_cast<RankedTensorType>(step.getResultTypes().front());
    if (!logits) {
      step.emitError() << "expected @step to return logits first but got "
                       << step.getFunctionType();
      return signalPassFailure();
    }
    auto computeAttribute = module->getAttrOfType<TypeAttr>("strata.compute");
    Type compute = computeAttribute ? computeAttribute.getValue() : Float32Type::get(&getContext());

    OpBuilder builder(step);
    auto kernels = ModuleOp::create(builder, module.getLoc(), "kernels");
    SmallVector<Type> arguments;
    for (Type argument : step.getArgumentTypes()) {
      if (CacheType cache = TierLowering::getCacheOf(argument))
        argument = cache;
      if (!isa<BatchType, CacheType>(argument))
        break;
      arguments.push_back(argument);
    }
    auto type = builder.getFunctionType(
        arguments, MemRefType::get(logits.getShape(), logits.getElementType()));
    auto lowered = func::FuncOp::create(builder, step.getLoc(), "step", type);
    // The caches' names, for messages and traces.
    if (ArrayAttr attributes = step.getArgAttrsAttr())
      lowered.setArgAttrsAttr(
          builder.getArrayAttr(attributes.getValue().take_front(arguments.size())));
    lowered.addEntryBlock();
    if (failed(StepLowering(step, lowered, kernels, compute).run())) {
      lowered.erase(); // half a step would only add errors of its own
      return signalPassFailure();
    }
    step.erase();
  }
};

} // namespace
