//===- Commands.cpp - Verifiers of the lowered ops ------------------------===//
#include "strata/dialects/Strata/IR.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace strata;

LogicalResult BufferOp::verify() {
  auto type = cast<MemRefType>(getBuffer().getType());
  SizeAttr rows = getRows();
  bool fixed = rows.getTokens() == 0 && rows.getWanted() == 0;
  bool firstFits = type.getRank() > 0 &&
                   (type.isDynamicDim(0) ? !fixed : fixed && rows.getFixed() == type.getDimSize(0));
  if (!firstFits || llvm::any_of(type.getShape().drop_front(), ShapedType::isDynamic) ||
      !type.getLayout().isIdentity())
    return emitOpError() << "(buffer_c1) expected a dense buffer whose first dimension is " << rows
                         << " but got " << type;
  return success();
}

LogicalResult ViewOp::verify() {
  auto source = cast<MemRefType>(getSource().getType()),
       result = cast<MemRefType>(getResult().getType());
  SmallVector<int64_t> sourceStrides, resultStrides;
  int64_t sourceOffset, resultOffset;
  if (source.getElementType() != result.getElementType() ||
      failed(source.getStridesAndOffset(sourceStrides, sourceOffset)) ||
      failed(result.getStridesAndOffset(resultStrides, resultOffset)) ||
      llvm::any_of(resultStrides, ShapedType::isDynamic))
    return emitOpError() << "(view_c1) expected static strides and the element type of " << source
                         << " but got " << result;
  if (sourceStrides.empty() || resultStrides.empty() ||
      sourceStrides.front() != resultStrides.front())
    return emitOpError() << "(view_c2) expected rows with the stride of " << source << " but got "
                         << result;
  return success();
}

/// The kernel function that a command names, with an error where there is none.
static FunctionOpInterface lookUpKernel(Operation *op, SymbolRefAttr name,
                                        SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(op, name);
  if (!kernel)
    op->emitOpError() << "(launch_c1) expected a kernel called " << name << " but there is none";
  return kernel;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FunctionOpInterface kernel = lookUpKernel(*this, getKernel(), symbols);
  if (!kernel)
    return failure();
  if (kernel.getNumArguments() != getArguments().size() + 2)
    return emitOpError() << "(launch_c1) expected " << kernel.getNumArguments() - 2
                         << " arguments for " << getKernel() << " but got "
                         << getArguments().size();
  for (auto [index, argument] : llvm::enumerate(getArguments())) {
    auto have = dyn_cast<MemRefType>(argument.getType());
    auto want = dyn_cast<MemRefType>(kernel.getArgumentTypes()[index]);
    if (!have)
      continue; // weights and caches have types of their own, checked where they are bound
    SmallVector<int64_t> haveStrides, wantStrides;
    int64_t offset;
    bool equal = want && have.getShape() == want.getShape() &&
                 have.getElementType() == want.getElementType() &&
                 succeeded(have.getStridesAndOffset(haveStrides, offset)) &&
                 succeeded(want.getStridesAndOffset(wantStrides, offset)) &&
                 haveStrides == wantStrides;
    if (!equal)
      return emitOpError() << "(launch_c2) expected argument " << index << " to be "
                           << kernel.getArgumentTypes()[index] << " but got " << have;
  }
  return success();
}

LogicalResult LaunchSelectOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(lookUpKernel(*this, getKernel(), symbols) != nullptr);
}

LogicalResult LaunchGatedProductOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(lookUpKernel(*this, getKernel(), symbols) != nullptr);
}

LogicalResult LaunchHeadAttentionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(lookUpKernel(*this, getKernel(), symbols) &&
                 (!getScoresKernel() || lookUpKernel(*this, *getScoresKernel(), symbols)));
}

LogicalResult LaunchPartialScoresOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(lookUpKernel(*this, getKernel(), symbols) != nullptr);
}

LogicalResult LaunchGroupedProductOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(!getKernel() || lookUpKernel(*this, *getKernel(), symbols));
}

LogicalResult LaunchProductOp::verify() {
  bool biasesFit = getBiases().empty() || getBiases().size() == getWeights().size();
  if (getWeights().empty() || getOutputs().size() != getWeights().size() || !biasesFit)
    return emitOpError() << "(launch_product_c1) expected an output for each weight, and a bias "
                            "for each or none, but "
                            "got "
                         << getWeights().size() << " weights, " << getOutputs().size()
                         << " outputs and " << getBiases().size() << " biases";
  if (!getResidual())
    return success();
  auto residual = cast<MemRefType>(getResidual().getType());
  auto output = cast<MemRefType>(getOutputs().front().getType());
  if (getWeights().size() != 1 || residual.getShape() != output.getShape())
    return emitOpError()
           << "(launch_product_c2) expected a residual of the shape of the only output but got "
           << residual;
  return success();
}

static bool areTogether(Value a, Value b, Value c) {
  return bool(a) == bool(b) && bool(b) == bool(c);
}

LogicalResult LaunchHeadAttentionOp::verify() {
  if (!areTogether(getAbsorbInput(), getAbsorbWeight(), getQuery()) ||
      !areTogether(getLatent(), getExpandWeight(), getOutput()))
    return emitOpError()
           << "(launch_head_attention_c1) expected input, weight and output of a product together";
  if (getScoresKernel().has_value() == getScoresArguments().empty())
    return emitOpError() << "(launch_head_attention_c2) expected kernel and arguments of scores "
                            "together";
  return success();
}

LogicalResult LaunchPartialScoresOp::verify() {
  if (!areTogether(getAbsorbInput(), getAbsorbWeight(), getQuery()))
    return emitOpError()
           << "(launch_partial_scores_c1) expected input, weight and output of a product together";
  return success();
}

LogicalResult LaunchGroupedProductOp::verify() {
  if (bool(getUp()) != getKernel().has_value())
    return emitOpError() << "(launch_grouped_product_c1) expected up and a kernel together";
  return success();
}

LogicalResult LaunchResolveOp::verify() {
  int given = bool(getSlots()) + bool(getHits()) + bool(getMisses());
  if (given != (getLimit() ? 0 : 3))
    return emitOpError() << "(launch_resolve_c1) expected slots, hits and misses, or a limit "
                            "instead of them";
  return success();
}

LogicalResult LaunchReloadOp::verify() {
  if (bool(getWeight()) == getCache().has_value())
    return emitOpError() << "(launch_reload_c1) expected either a weight or a cache";
  return success();
}
