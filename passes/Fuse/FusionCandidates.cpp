//===- FusionCandidates.cpp - What could run in one launch ----------------===//
#include "strata/passes/Fuse/FusionCandidates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace strata;

double strata::getRowBytes(Value activation) {
  auto type = cast<RankedTensorType>(activation.getType());
  double bytes = type.getElementTypeBitWidth() / 8.0;
  for (int64_t size : type.getShape().drop_front())
    bytes *= double(size);
  return bytes;
}

/// Slices, reshapes and concatenations of activations.
static bool isShaping(Operation *op) {
  return isa_and_nonnull<tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::ConcatOp>(op);
}

/// The tensors that a shaping op takes its elements from.
static ValueRange getShapedInputs(Operation *op) {
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return concat.getInputs();
  return op->getOperands().take_front(1);
}

/// An op that a value comes from, and the shaping ops on the way.
struct Origin {
  Operation *op;
  SmallVector<Operation *> shaping;
};

/// The ops other than shaping ones that `value` is made of. The way back is short: a few shaping
/// ops follow each other.
static SmallVector<Origin> findOrigins(Value value) {
  SmallVector<Origin> origins;
  SmallVector<std::pair<Value, SmallVector<Operation *>>> pending{{value, {}}};
  constexpr unsigned kMostOrigins = 16; // a bound for modules that concatenate without end
  while (!pending.empty() && origins.size() < kMostOrigins) {
    auto [current, shaping] = pending.pop_back_val();
    Operation *op = current.getDefiningOp();
    if (!op)
      continue;
    if (!isShaping(op) || shaping.size() > kMostOrigins) {
      origins.push_back({op, shaping});
      continue;
    }
    shaping.push_back(op);
    for (Value input : getShapedInputs(op))
      pending.push_back({input, shaping});
  }
  return origins;
}

namespace {

class CandidateFinder {
public:
  CandidateFinder(Block &block, int64_t tokens) : block(block), tokens(double(tokens)) {}

  SmallVector<FusionCandidate> run() {
    for (Operation &op : block) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        addHeads(attention);
      if (auto linear = dyn_cast<LinearOp>(op))
        addSiblings(linear);
      if (auto add = dyn_cast<arith::AddFOp>(op))
        addResidual(add);
      if (KernelOp::allows(KernelKind::Rows, &op) && !KernelOp::isView(&op))
        addRowChain(&op);
    }
    return std::move(candidates);
  }

private:
  void add(KernelKind kind, ArrayRef<Operation *> ops, double savedBytes) {
    candidates.push_back({kind, llvm::to_vector(ops), savedBytes});
  }

  /// A value that is neither written nor read again: both are saved.
  double roundTrip(Value value) const { return 2 * tokens * getRowBytes(value); }

  /// Attention with the absorption that its query comes from, and with the expansion that alone
  /// uses its result.
  void addHeads(AttentionOp attention) {
    for (const Origin &origin : findOrigins(attention.getQuery()))
      if (auto absorb = dyn_cast<HeadLinearOp>(origin.op); absorb && absorb->hasOneUse()) {
        SmallVector<Operation *> ops{absorb, attention};
        llvm::append_range(ops, origin.shaping);
        add(KernelKind::Heads, ops, roundTrip(absorb));
        break;
      }
    if (attention->hasOneUse())
      if (auto expand = dyn_cast<HeadLinearOp>(*attention->user_begin()))
        add(KernelKind::Heads, {attention, expand}, roundTrip(attention));
  }

  /// What is chosen by a product keeps its own, exact one (see `strata-lower-to-commands`).
  static bool isHeadWeights(LinearOp linear) {
    return llvm::any_of(linear->getUsers(), [&](Operation *user) {
      auto select = dyn_cast<SelectOp>(user);
      return select && select.getHeadWeights() == linear.getResult();
    });
  }

  /// Products of one input read it once. Those with a bias have a kernel of their own.
  void addSiblings(LinearOp linear) {
    if (linear.getBias() || isHeadWeights(linear))
      return;
    LinearOp &first = firstOfInput[linear.getInput()];
    if (first)
      add(KernelKind::Products, {first, linear}, tokens * getRowBytes(linear.getInput()));
    else
      first = linear;
  }

  /// A product that only a sum uses adds to the other operand.
  void addResidual(arith::AddFOp sum) {
    for (Value operand : sum->getOperands()) {
      auto linear = operand.getDefiningOp<LinearOp>();
      if (linear && linear->hasOneUse() && !linear.getBias())
        add(KernelKind::Products, {linear, sum}, roundTrip(linear));
    }
  }

  /// An op on rows, and those on rows that it takes its operands from.
  void addRowChain(Operation *op) {
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      for (const Origin &origin : findOrigins(operand)) {
        if (!KernelOp::allows(KernelKind::Rows, origin.op) || KernelOp::isView(origin.op))
          continue;
        Value read = origin.op->getResult(0);
        if (!isa<RankedTensorType>(read.getType()))
          continue; // a cache: what was appended must be seen by all before it is read
        SmallVector<Operation *> ops{origin.op, op};
        llvm::append_range(ops, origin.shaping);
        double bytes = tokens * getRowBytes(read);
        add(KernelKind::Rows, ops, read.hasOneUse() ? 2 * bytes : bytes);
      }
    }
  }

  Block &block;
  double tokens;
  llvm::DenseMap<Value, LinearOp> firstOfInput;
  SmallVector<FusionCandidate> candidates;
};

} // namespace

SmallVector<FusionCandidate> strata::findFusionCandidates(Block &block, int64_t tokens) {
  return CandidateFinder(block, tokens).run();
}
