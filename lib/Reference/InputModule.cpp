//===- InputModule.cpp - A module of the phase input ----------------------===//
#include "strata/lib/Reference/InputModule.h"

#include "strata/dialects/Strata/ModelAttributes.h"
#include "strata/dialects/Tier/IR.h"
#include "strata/lib/Reference/StepState.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace strata::reference {

Expected<OwningOpRef<ModuleOp>> parseInputModule(StringRef bytes, MLIRContext &context) {
  // Of `tier` only what it is: such a module is refused with a message that says why.
  context.loadDialect<StrataDialect, tier::TierDialect, arith::ArithDialect, func::FuncDialect,
                      tensor::TensorDialect>();
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (text.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      llvm::raw_string_ostream stream(text);
      if (auto location = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        stream << location.getLine() << ':' << location.getColumn() << ": ";
      stream << diagnostic;
    }
    return success();
  });
  llvm::SourceMgr sources;
  // The copy ends with a zero, which the lexer wants.
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(bytes, "module"), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return Status(StatusCode::Corrupt,
                  "module: " + (text.empty() ? std::string("expected an MLIR module") : text));
  return module;
}

/// True if the reference executor has a meaning for the op within @step.
static bool isSupported(Operation &op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return !attention.isPlaced();
  if (auto append = dyn_cast<AppendOp>(op))
    return !append.getInOrder();
  return isa<TokenIdsOp, PositionsOp, WeightOp, EmbeddingOp, LinearOp, HeadLinearOp, RmsNormOp,
             LayerNormOp, RopeOp, HadamardOp, GatedMlpOp, GatedLinearOp, RouteOp,
             MixtureOfExpertsOp, ExpertOutputsOp, CombineExpertsOp, KernelOp, AppendOp,
             IndexScoresOp, TopKOp, SelectOp, AttentionOp, LogitsOp, arith::AddFOp, arith::MulFOp,
             arith::ConstantOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::ConcatOp, tensor::DimOp, func::ReturnOp>(op);
}

MutableArrayRef<BlockArgument> getCaches(func::FuncOp step) {
  MutableArrayRef<BlockArgument> arguments = step.front().getArguments().drop_front(1);
  return arguments.take_while(
      [](BlockArgument argument) { return isa<CacheType>(argument.getType()); });
}

static bool isRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.getElementType().isInteger(32) &&
         !tensor.isDynamicDim(1);
}

static bool isActivation(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() >= 1 && tensor.getElementType().isF32() &&
         tensor.isDynamicDim(0) && tensor.getNumDynamicDims() == 1;
}

MutableArrayRef<BlockArgument> getRows(func::FuncOp step) {
  return step.front()
      .getArguments()
      .drop_front(1 + getCaches(step).size())
      .take_while([](BlockArgument argument) { return isRows(argument.getType()); });
}

MutableArrayRef<BlockArgument> getActivations(func::FuncOp step) {
  return step.front().getArguments().drop_front(1 + getCaches(step).size() + getRows(step).size());
}

/// Is it a type or op of the dialect that says where data lie? What a model computes is the same
/// without it.
static bool isOfTier(Type type) { return isa<tier::TierDialect>(type.getDialect()); }
static bool isOfTier(Operation &op) { return isa<tier::TierDialect>(op.getDialect()); }

Expected<func::FuncOp> findStep(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>(kEntryPoint);
  if (!step || step.isExternal())
    return Status(StatusCode::InvalidArgument, "the module has no function @step");
  if (!llvm::hasSingleElement(step.getBody()))
    return errorAt(step, "expected @step to have one block", StatusCode::Unsupported);
  if (llvm::any_of(step.getArgumentTypes(), [](Type type) { return isOfTier(type); }) ||
      llvm::any_of(step.front(), [](Operation &op) { return isOfTier(op); }))
    return errorAt(step,
                   "says where data lie; the reference executor takes modules from before the "
                   "phase place",
                   StatusCode::Unsupported);
  if (step.getNumArguments() == 0 || !isa<BatchType>(step.getArgumentTypes().front()) ||
      !llvm::all_of(getActivations(step),
                    [](BlockArgument argument) { return isActivation(argument.getType()); }))
    return errorAt(step,
                   "expected @step to take a batch, then caches, then rows, then activations");
  for (Operation &op : step.front())
    if (!isSupported(op))
      return errorAt(&op, "is not an op of the phase input", StatusCode::Unsupported);
  return step;
}

/// The cache argument that a value comes from through appends, or −1.
static int64_t findCacheArgument(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto append = dyn_cast<AppendOp>(op))
      value = append.getCache();
    else if (auto kernel = dyn_cast<KernelOp>(op))
      value = kernel.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
    else
      break;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? int64_t(argument.getArgNumber()) : -1;
}

/// The vocabulary's size; an error unless @step returns the logits and then each cache in order.
static Expected<int64_t> checkResults(func::FuncOp step) {
  auto returned = cast<func::ReturnOp>(step.front().getTerminator());
  auto logits = returned->getNumOperands() == 0
                    ? RankedTensorType()
                    : dyn_cast<RankedTensorType>(returned->getOperand(0).getType());
  if (!logits || logits.getRank() != 2 || !logits.getElementType().isF32() ||
      logits.isDynamicDim(1))
    return errorAt(returned, "expected logits [tokens, vocabulary] as the first result");
  unsigned caches = getCaches(step).size();
  if (returned->getNumOperands() <= caches)
    return errorAt(returned, "expected the logits and " + llvm::Twine(caches) + " caches but got " +
                                 llvm::Twine(returned->getNumOperands()) + " results");
  for (unsigned i = 1; i <= caches; ++i)
    if (findCacheArgument(returned->getOperand(i)) != int64_t(i))
      return errorAt(returned, "expected result " + llvm::Twine(i) + " to be cache argument " +
                                   llvm::Twine(i));
  return logits.getDimSize(1);
}

Expected<rt::ModelDescription> describeModel(ModuleOp module) {
  Expected<func::FuncOp> step = findStep(module);
  if (!step.ok())
    return step.status();
  if (size_t activations = getActivations(*step).size())
    return errorAt(*step,
                   "expected a whole model but got a stage that takes " + llvm::Twine(activations) +
                       " activations",
                   StatusCode::Unsupported);
  Expected<int64_t> vocabulary = checkResults(*step);
  if (!vocabulary.ok())
    return vocabulary.status();

  rt::ModelDescription model;
  model.vocabularySize = *vocabulary;
  auto type = module->getAttrOfType<StringAttr>(kModelTypeAttr);
  auto positions = module->getAttrOfType<IntegerAttr>(kMaxPositionsAttr);
  if (!type || !positions)
    return errorAt(module, "expected the attributes strata.model_type and strata.max_positions");
  if (positions.getInt() < 1 || positions.getInt() > INT32_MAX)
    return errorAt(module, "expected strata.max_positions from 1 to " + llvm::Twine(INT32_MAX) +
                               " but got " + llvm::Twine(positions.getInt()));
  model.modelType = type.str();
  model.maxPositions = positions.getInt();
  if (auto eos = module->getAttrOfType<DenseI32ArrayAttr>(kEosTokenIdsAttr))
    model.eosTokenIds.assign(eos.asArrayRef().begin(), eos.asArrayRef().end());

  model.pageSize = 1;
  for (auto [i, argument] : llvm::enumerate(getCaches(*step))) {
    int64_t pageSize = cast<CacheType>(argument.getType()).getPageSize();
    if (i > 0 && pageSize != model.pageSize)
      return errorAt(*step, "expected all caches to have pages of " + llvm::Twine(model.pageSize) +
                                " tokens but got " + llvm::Twine(pageSize));
    model.pageSize = pageSize;
  }
  for (BlockArgument rows : getRows(*step)) {
    model.rowWidths.push_back(cast<RankedTensorType>(rows.getType()).getDimSize(1));
    model.rowsAreInput = true;
  }
  for (Operation &op : step->front()) {
    if (auto select = dyn_cast<SelectOp>(op))
      model.rowWidths.push_back(select.getK());
    else if (auto topK = dyn_cast<TopKOp>(op))
      model.rowWidths.push_back(topK.getK());
    else if (auto route = dyn_cast<RouteOp>(op)) {
      model.expertWidths.push_back(route.getExperts().getType().getDimSize(1));
      model.expertCounts.push_back(route.getRouter().getType().getDimSize(0));
    }
  }
  return model;
}

} // namespace strata::reference
