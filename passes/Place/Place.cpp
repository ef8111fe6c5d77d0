//===- Place.cpp - Where buffers lie and how they come --------------------===//
#include "strata/passes/Place/ArenaBytes.h"
#include "strata/passes/Place/Passes.h"
#include "strata/passes/Place/StepModel.h"

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

namespace {

struct Place : strata::impl::PlaceBase<Place> {
  using PlaceBase::PlaceBase;

  void runOnOperation() override {
    getOperation().emitError() << "expected a machine that this build knows";
    signalPassFailure();
  }
};

} // namespace
