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
