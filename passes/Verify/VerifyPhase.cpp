//===- VerifyPhase.cpp - What a phase promises ----------------------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Tier/IR.h"
#include "strata/passes/Verify/Passes.h"
#include "strata/passes/Verify/VerifyPlaced.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace strata {
#define GEN_PASS_DEF_VERIFYPHASE
#include "strata/passes/Verify/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// Ops of the strata dialect that only exist once memory is decided.
static bool isCommand(Operation *op) {
  return isa<BufferOp, ViewOp, StepArrayOp, LaunchOp, LaunchRopeTableOp, LaunchProductOp,
             LaunchGatedProductOp, LaunchHeadAttentionOp, LaunchPartialScoresOp,
             LaunchGroupByExpertOp, LaunchGroupedProductOp, LaunchRouteOp, LaunchSelectOp,
             LaunchImportRowsOp, NearRowsOp, LaunchRecordsOp, LaunchResolveOp, LaunchGatherOp,
             LaunchWriteBackOp, LaunchReloadOp, LaunchWaitOp>(op);
}

/// Ops of the strata dialect that the phase fuse adds.
static bool isFusionOp(Operation *op) {
  return isa<KernelOp, YieldOp, GatedLinearOp, ExpertOutputsOp, CombineExpertsOp>(op);
}

/// Ops, or forms of ops, that the phase place adds.
static bool isPlacedOp(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attention.isPlaced();
  if (auto append = dyn_cast<AppendOp>(op))
    return append.getInOrder();
  return isa<AttentionScoresOp, PartialAttentionOp, RecordsOp, OwnRecordsOp>(op) ||
         isa<tier::TierDialect>(op->getDialect());
}

static bool isTensorOp(Operation *op, bool isFused) {
  if (isa<StrataDialect>(op->getDialect()))
    return !isCommand(op) && (isFused || !isFusionOp(op));
  if (isa<tier::TierDialect>(op->getDialect()))
    return true; // if the phase has placed ops
  return isa<func::FuncOp, func::ReturnOp, arith::AddFOp, arith::MulFOp, arith::ConstantOp,
             tensor::DimOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ConcatOp>(op);
}

static bool isKernelOp(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                         memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>(
             op->getDialect()) &&
         !isa<func::CallIndirectOp>(op);
}

/// At most one append of a cache value, and no use of it after that (design: kernels write in
/// place).
static LogicalResult verifyLinearCaches(func::FuncOp function) {
  Block &block = function.getBody().front();
  auto result = function.walk([&](AppendOp append) -> WalkResult {
    for (Operation *user : append.getCache().getUsers()) {
      // An op in a kernel stands where the kernel stands, unless both are in the same one.
      bool isSameBlock = user->getBlock() == append->getBlock();
      Operation *appendPlace = isSameBlock ? append : block.findAncestorOpInBlock(*append);
      Operation *userPlace = isSameBlock ? user : block.findAncestorOpInBlock(*user);
      if (userPlace == appendPlace ? user == append : userPlace->isBeforeInBlock(appendPlace))
        continue;
      InFlightDiagnostic diagnostic = user->emitOpError() << "uses a cache after its append";
      diagnostic.attachNote(append.getLoc()) << "the append";
      return diagnostic;
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static bool isRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.getElementType().isInteger(32);
}

static bool isCache(Type type) { return getCacheOfArgument(type) != Type(); }

/// `@step(!strata.batch, caches…, rows…)`, whose results are checked by the caller. If it is
/// `isPlaced`, caches may be `!tier.at`, and tables and hot sets stand behind them.
static FailureOr<func::FuncOp> verifyEntry(ModuleOp module, bool isPlaced) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step || step.isExternal() || !step.getBody().hasOneBlock())
    return module.emitError() << "expected a function @step with one block but there is none";
  ArrayRef<Type> arguments = step.getArgumentTypes();
  bool hasBatch = !arguments.empty() && isa<BatchType>(arguments.front());
  ArrayRef<Type> rest = hasBatch ? arguments.drop_front() : arguments;
  if (isPlaced)
    rest = rest.drop_while(isCache)
               .drop_while(llvm::IsaPred<tier::TableType>)
               .drop_while(llvm::IsaPred<tier::HotSetType>);
  else
    rest = rest.drop_while(llvm::IsaPred<CacheType>);
  if (!hasBatch || !llvm::all_of(rest, isRows))
    return step.emitError() << "expected @step to take a batch, then caches, "
                            << (isPlaced ? "tables and hot sets, " : "") << "then rows, but got "
                            << step.getFunctionType();
  return step;
}

static LogicalResult verifyModelAttributes(ModuleOp module) {
  if (!module->getAttrOfType<StringAttr>("strata.model_type"))
    return module.emitError() << "expected a module with the string strata.model_type";
  auto positions = module->getAttrOfType<IntegerAttr>("strata.max_positions");
  if (!positions || positions.getInt() < 1)
    return module.emitError() << "expected a module with a positive integer strata.max_positions";
  if (module->hasAttr("strata.eos_token_ids") &&
      !module->getAttrOfType<DenseI32ArrayAttr>("strata.eos_token_ids"))
    return module.emitError() << "expected strata.eos_token_ids to be array<i32> but got "
                              << module->getAttr("strata.eos_token_ids");
  return success();
}

/// A tensor of tokens × length is what joining scores and choice is for.
static LogicalResult verifyNoScores(func::FuncOp step) {
  auto isScores = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && shaped.hasRank() &&
           llvm::count_if(shaped.getShape(), ShapedType::isDynamic) > 1;
  };
  auto result =
      step.walk([&](Operation *op) -> WalkResult {
        for (Type type : op->getResultTypes())
          if (isa<IndexScoresOp>(op) || isScores(type))
            return op->emitOpError() << "makes a tensor of tokens × length, " << type
                                     << ", which the phase share and those behind it have none of";
        if (isa<TopKOp>(op))
          return op->emitOpError()
                 << "is not part of the phases from share on: its scores are a tensor of tokens "
                    "× length";
        return WalkResult::advance();
      });
  return failure(result.wasInterrupted());
}

/// Upstream leaves a size that doesn't exist undefined, and folds it to anything.
static LogicalResult verifySize(tensor::DimOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  std::optional<int64_t> index = op.getConstantIndex();
  if (type && index && *index >= 0 && *index < type.getRank())
    return success();
  return op.emitOpError() << "expected a constant dimension of " << op.getSource().getType();
}

/// Upstream leaves it open what happens where sizes and type disagree.
static LogicalResult verifySizes(tensor::ExpandShapeOp op) {
  if (op.getStaticOutputShape() == op.getResultType().getShape())
    return success();
  return op.emitOpError() << "expected the sizes of " << op.getResultType() << " but got ["
                          << op.getStaticOutputShape() << "]";
}

/// The phases `input`, `share`, `fuse` and `place`.
static LogicalResult verifyModel(ModuleOp module, StringRef phase) {
  bool isPlaced = phase == "place";
  FailureOr<func::FuncOp> step = verifyEntry(module, isPlaced);
  if (failed(step) || failed(verifyModelAttributes(module)))
    return failure();
  // Caches, and behind them the tables and hot sets of a placed step.
  ArrayRef<Type> results = step->getResultTypes(),
                 caches = step->getArgumentTypes().drop_front().take_while(
                     [](Type type) { return !isRows(type); });
  auto logits = results.empty() ? RankedTensorType() : dyn_cast<RankedTensorType>(results.front());
  if (!logits || logits.getRank() != 2 || !logits.getElementType().isF32() ||
      logits.isDynamicDim(1))
    return step->emitError()
           << "expected @step to return logits, an f32 tensor [wanted, vocabulary], first but got "
           << step->getFunctionType();
  results = results.drop_front();
  if (results.take_front(caches.size()) != caches ||
      !llvm::all_of(results.drop_front(std::min(results.size(), caches.size())), isRows))
    return step->emitError()
           << "expected @step to return its caches in order after the logits, then rows, but got "
           << step->getFunctionType();
  int64_t pageSize = 0;
  for (Type type : caches.take_while(isCache)) {
    int64_t size = cast<CacheType>(getCacheOfArgument(type)).getPageSize();
    if (pageSize && size != pageSize)
      return step->emitError() << "expected all caches to have pages of " << pageSize
                               << " tokens but got " << size;
    pageSize = size;
  }
  auto result = module.walk([&](Operation *op) -> WalkResult {
    if (auto size = dyn_cast<tensor::DimOp>(op))
      return verifySize(size);
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return verifySizes(expand);
    if (op == module ||
        (isTensorOp(op, phase == "fuse" || isPlaced) && (isPlaced || !isPlacedOp(op))))
      return WalkResult::advance();
    return op->emitOpError() << "is not part of the phase " << phase;
  });
  if (result.wasInterrupted() || failed(verifyLinearCaches(*step)) ||
      (isPlaced && failed(verifyPlaced(*step))))
    return failure();
  return phase == "input" ? success() : verifyNoScores(*step);
}

static LogicalResult verifyLower(ModuleOp module) {
  FailureOr<func::FuncOp> step = verifyEntry(module, /*isPlaced=*/true);
  if (failed(step) || failed(verifyModelAttributes(module)))
    return failure();
  for (Operation &op : step->getBody().front()) {
    if (!isCommand(&op) && !isa<WeightOp, func::ReturnOp>(op))
      return op.emitOpError() << "is not part of the phase lower";
    if (auto buffer = dyn_cast<BufferOp>(op); buffer && !buffer.getSlot())
      return op.emitOpError() << "has no slot at the end of the phase lower";
  }
  if (failed(verifyNoScores(*step)))
    return failure();
  for (auto kernels : module.getOps<ModuleOp>()) {
    auto result = kernels.walk([&](Operation *op) -> WalkResult {
      if (op == kernels || isKernelOp(op))
        return WalkResult::advance();
      return op->emitOpError() << "is not part of a kernel of the phase lower";
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

namespace {

struct VerifyPhase : strata::impl::VerifyPhaseBase<VerifyPhase> {
  using VerifyPhaseBase::VerifyPhaseBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (phase != "input" && phase != "share" && phase != "fuse" && phase != "place" &&
        phase != "lower") {
      module.emitError() << "expected the phase input, share, fuse, place or lower but got "
                         << phase;
      return signalPassFailure();
    }
    if (failed(phase == "lower" ? verifyLower(module) : verifyModel(module, phase)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
