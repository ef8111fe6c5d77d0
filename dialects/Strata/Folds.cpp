//===- Folds.cpp - Ops that do nothing ------------------------------------===//
#include "strata/dialects/Strata/IR.h"

using namespace mlir;
using namespace strata;

OpFoldResult RopeOp::fold(FoldAdaptor) {
  // An attention factor multiplies the rotated elements alone, so without any there is nothing left
  // of it.
  return getWidth() == 0 ? OpFoldResult(getInput()) : OpFoldResult();
}

OpFoldResult HadamardOp::fold(FoldAdaptor) {
  return getInput().getType().getShape().back() == 1 ? OpFoldResult(getInput()) : OpFoldResult();
}
