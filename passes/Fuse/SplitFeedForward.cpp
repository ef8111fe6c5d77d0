//===- SplitFeedForward.cpp - Gated MLPs and mixtures in parts ------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Fuse/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace strata {
#define GEN_PASS_DEF_SPLITFEEDFORWARD
#include "strata/passes/Fuse/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// Replaces `op` by the last of its parts; all keep its layer.
static void replaceByParts(Operation *op, Operation *first, Operation *last) {
  for (Operation *part : {first, last})
    part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(last->getResults());
  op->erase();
}

static void split(GatedMlpOp op) {
  OpBuilder builder(op);
  auto type = RankedTensorType::get(
      {op.getInput().getType().getDimSize(0), op.getGate().getType().getDimSize(0)},
      builder.getF32Type());
  auto gated = GatedLinearOp::create(builder, op.getLoc(), type, op.getInput(), op.getGate(),
                                     op.getUp(), op.getActivation());
  auto down = LinearOp::create(builder, op.getLoc(), op.getType(), gated, op.getDown(), Value());
  replaceByParts(op, gated, down);
}

static void split(MixtureOfExpertsOp op) {
  OpBuilder builder(op);
  auto type =
      RankedTensorType::get({op.getInput().getType().getDimSize(0),
                             op.getExperts().getType().getDimSize(1), op.getType().getDimSize(1)},
                            builder.getF32Type());
  auto outputs =
      ExpertOutputsOp::create(builder, op.getLoc(), type, op.getInput(), op.getExperts(),
                              op.getGate(), op.getUp(), op.getDown(), op.getActivation());
  auto sum = CombineExpertsOp::create(builder, op.getLoc(), op.getType(), outputs, op.getWeights());
  replaceByParts(op, outputs, sum);
}

namespace {

struct SplitFeedForward : strata::impl::SplitFeedForwardBase<SplitFeedForward> {
  using SplitFeedForwardBase::SplitFeedForwardBase;

  void runOnOperation() override {
    getOperation().walk([](GatedMlpOp op) { split(op); });
    getOperation().walk([](MixtureOfExpertsOp op) { split(op); });
  }
};

} // namespace
