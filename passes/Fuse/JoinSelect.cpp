//===- JoinSelect.cpp - Scores and the choice among them ------------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/passes/Fuse/Passes.h"
#include "strata/passes/Fuse/VisibleScores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace strata {
#define GEN_PASS_DEF_JOINSELECT
#include "strata/passes/Fuse/Passes.h.inc"
} // namespace strata

using namespace mlir;
using namespace strata;

/// Whether `size` is dimension `dimension` of `tensor`.
static bool isSizeOf(OpFoldResult size, Value tensor, int64_t dimension) {
  int64_t known = cast<RankedTensorType>(tensor.getType()).getDimSize(dimension);
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant == known;
  auto dim = cast<Value>(size).getDefiningOp<tensor::DimOp>();
  return dim && dim.getSource() == tensor && dim.getConstantIndex() == dimension;
}

/// The range of one dimension that a slice takes, if it takes all of the others without steps.
static std::optional<std::pair<int64_t, int64_t>> getRange(tensor::ExtractSliceOp slice,
                                                           int64_t along) {
  std::optional<int64_t> begin = getConstantIntValue(slice.getMixedOffsets()[along]),
                         size = getConstantIntValue(slice.getMixedSizes()[along]);
  if (!begin || !size || !slice.hasUnitStride() ||
      slice.getType().getRank() != slice.getSourceType().getRank())
    return std::nullopt;
  for (int64_t dimension = 0; dimension < slice.getSourceType().getRank(); ++dimension)
    if (dimension != along &&
        (!isZeroInteger(slice.getMixedOffsets()[dimension]) ||
         !isSizeOf(slice.getMixedSizes()[dimension], slice.getSource(), dimension)))
      return std::nullopt;
  return std::pair(*begin, *begin + *size);
}

/// The tensor that slices along a dimension together are; null if they leave anything out or
/// differ in order.
static Value joinSlices(ArrayRef<Value> slices, int64_t along) {
  Value source;
  int64_t end = 0;
  for (Value value : slices) {
    auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
    std::optional<std::pair<int64_t, int64_t>> range;
    if (!slice || !(range = getRange(slice, along)) || range->first != end ||
        (source && slice.getSource() != source))
      return {};
    source = slice.getSource();
    end = range->second;
  }
  return source && cast<RankedTensorType>(source.getType()).getDimSize(along) == end ? source
                                                                                     : Value();
}

/// The value without slices and concatenations that leave it as it is.
static Value lookThroughBlocks(Value scores) {
  while (true) {
    if (auto concat = scores.getDefiningOp<tensor::ConcatOp>()) {
      Value whole = joinSlices(llvm::to_vector(concat.getInputs()), concat.getDim());
      if (!whole)
        return scores;
      scores = whole;
      continue;
    }
    auto slice = scores.getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || !slice.hasUnitStride() || !slice.hasZeroOffset() ||
        slice.getType().getRank() != slice.getSourceType().getRank())
      return scores;
    for (int64_t dimension = 0; dimension < slice.getType().getRank(); ++dimension)
      if (!isSizeOf(slice.getMixedSizes()[dimension], slice.getSource(), dimension))
        return scores;
    scores = slice.getSource();
  }
}

namespace {

/// What `select` needs, or why it can't be had.
struct Scores {
  IndexScoresOp op; ///< one of those that are added
  Value query, headWeights;
  StringRef obstacle;
};

} // namespace

static Scores failedScores(StringRef obstacle) { return {{}, {}, {}, obstacle}; }

/// The sum of `terms`, which all are index scores.
static Scores joinHeads(ArrayRef<IndexScoresOp> terms) {
  IndexScoresOp first = terms.front();
  if (terms.size() == 1)
    return {first, first.getQuery(), first.getHeadWeights(), {}};
  SmallVector<IndexScoresOp> ordered(terms);
  constexpr int64_t kHeads = 1; // the dimension
  auto begin = [](IndexScoresOp op) {
    auto slice = op.getQuery().getDefiningOp<tensor::ExtractSliceOp>();
    auto heads = slice ? getRange(slice, kHeads) : std::nullopt;
    return heads ? heads->first : 0;
  };
  llvm::sort(ordered, [&](IndexScoresOp a, IndexScoresOp b) { return begin(a) < begin(b); });
  SmallVector<Value> queries, weights;
  for (IndexScoresOp term : ordered) {
    if (term.getCache() != first.getCache() || term.getBatch() != first.getBatch() ||
        term.getScale() != first.getScale())
      return failedScores("scores of several caches, batches or scales are added");
    queries.push_back(term.getQuery());
    weights.push_back(term.getHeadWeights());
  }
  Value query = joinSlices(queries, kHeads), headWeights = joinSlices(weights, kHeads);
  if (!query || !headWeights)
    return failedScores("the added scores are not blocks of all heads of one query");
  return {first, query, headWeights, {}};
}

/// Looks for the scores that a value is made of, for a choice among what tokens of `batch` see.
static Scores findScores(Value value, Value batch) {
  SmallVector<IndexScoresOp> terms;
  SmallVector<Value> pending{value};
  size_t sums = 0;
  while (!pending.empty()) {
    Value term = lookThroughBlocks(pending.pop_back_val());
    if (auto sum = term.getDefiningOp<arith::AddFOp>()) {
      // A sum of a value with itself, many times over, has exponentially many terms.
      constexpr size_t kMaxSums = 64;
      if (++sums > kMaxSums)
        return failedScores("too many scores are added");
      pending.push_back(sum.getRhs());
      pending.push_back(sum.getLhs());
      continue;
    }
    if (auto scores = term.getDefiningOp<IndexScoresOp>()) {
      terms.push_back(scores);
      continue;
    }
    VisibleScores visible = findVisibleScores(term, batch);
    if (visible.kind == VisibleScores::Zero)
      continue;
    if (visible.kind == VisibleScores::Scores) {
      terms.push_back(visible.op);
      continue;
    }
    return failedScores(matchPattern(term, m_Constant())
                            ? "a constant other than 0 is added to the scores"
                            : "the scores are not made by strata.index_scores, or have a mask that "
                              "may hide what a token sees");
  }
  return terms.empty() ? failedScores("the scores are constant") : joinHeads(terms);
}

/// Erases what only the joined op used.
static void eraseDead(Operation *op) {
  llvm::SetVector<Operation *> candidates;
  candidates.insert(op);
  while (!candidates.empty()) {
    Operation *candidate = candidates.pop_back_val();
    if (!isOpTriviallyDead(candidate))
      continue;
    // With what its regions use from outside.
    candidate->walk([&](Operation *user) {
      for (Value operand : user->getOperands())
        if (Operation *source = operand.getDefiningOp(); source && !candidate->isAncestor(source))
          candidates.insert(source);
    });
    candidate->erase();
  }
}

namespace {

struct JoinSelect : strata::impl::JoinSelectBase<JoinSelect> {
  using JoinSelectBase::JoinSelectBase;

  void runOnOperation() override {
    SmallVector<TopKOp> choices;
    getOperation().walk([&](TopKOp op) { choices.push_back(op); });
    for (TopKOp op : choices)
      join(op);
  }

private:
  static void join(TopKOp op) {
    auto options = remark::RemarkOpts::name("JoinSelect").category("strata-join");
    Scores scores = findScores(op.getScores(), op.getBatch());
    if (scores.op && scores.op.getBatch() != op.getBatch())
      scores = failedScores("the scores are those of another batch");
    if (!scores.op) {
      remark::missed(op.getLoc(), options) << remark::reason("{0}", scores.obstacle.str());
      return;
    }
    // Here, not at the choice: the cache may be appended to in between.
    OpBuilder builder(scores.op);
    auto select = SelectOp::create(builder, op.getLoc(), op.getType(), scores.query,
                                   scores.headWeights, scores.op.getCache(), op.getBatch(),
                                   op.getKAttr(), scores.op.getScaleAttr());
    select->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.getRows().replaceAllUsesWith(select.getRows());
    eraseDead(op);
    constexpr int64_t kScoreBytes = 2 * sizeof(float); // written and read
    remark::passed(select.getLoc(), options) << remark::reason("the scores never become a tensor")
                                             << remark::metric("BytesPerTokenAndKey", kScoreBytes);
  }
};

} // namespace
