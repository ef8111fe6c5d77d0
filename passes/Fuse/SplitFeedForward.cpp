//===- SplitFeedForward.cpp - Gated MLPs and mixtures in parts ------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Fuse/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace strata {
#define GEN_PASS_DEF_SPLITFEEDFORWARD
#include "strata/passes/Fuse/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// Says that gate, up and activation stay one launch. `products` is the number of gated products of
/// a token, `width` that of their results: gate and up are neither written nor read.
static void remarkGated(Operation *op, int64_t products, int64_t width) {
  constexpr int64_t kBytes = 2 * 2 * sizeof(float);
  remark::passed(op->getLoc(), remark::RemarkOpts::name("SplitFeedForward").category("strata-fuse"))
      << "fused: gate, up, activation" << remark::metric("SavedBytes", products * width * kBytes);
}

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
  remarkGated(gated, 1, type.getDimSize(1));
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
  remarkGated(outputs, type.getDimSize(1), op.getGate().getType().getDimSize(1));
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
