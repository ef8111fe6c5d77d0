//===- InitAll.cpp - Everything that Strata registers ---------------------===//
#include "strata/InitAll.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Tier/IR.h"
#include "strata/passes/Fuse/Passes.h"
#include "strata/passes/Lower/Passes.h"
#include "strata/passes/Place/Passes.h"
#include "strata/passes/Share/Passes.h"
#include "strata/passes/Verify/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

void strata::registerAllDialects(mlir::DialectRegistry &registry) {
  registry
      .insert<StrataDialect, tier::TierDialect, mlir::arith::ArithDialect, mlir::DLTIDialect,
              mlir::func::FuncDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
              mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
}

void strata::registerAllPasses() {
  registerStrataFusePasses();
  registerStrataLowerPasses();
  registerStrataPlacePasses();
  registerStrataSharePasses();
  registerStrataVerifyPasses();
}
