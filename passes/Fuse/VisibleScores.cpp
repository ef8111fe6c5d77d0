//===- VisibleScores.cpp - What masks leave of scores ---------------------===//
#include "strata/passes/Fuse/VisibleScores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace strata;

namespace {

/// One element of a tensor, or a scalar that it is made of.
struct Element {
  enum Kind {
    Unknown,
    Token,    ///< n
    Column,   ///< s
    Position, ///< of token n: at least s
    Zero,
    Scores, ///< at (n, s)
    True,
    False,
  };
  Kind kind = Unknown;
  IndexScoresOp scores;

  Element(Kind kind = Unknown) : kind(kind) {}
  explicit Element(IndexScoresOp scores) : kind(Scores), scores(scores) {}
  bool operator==(const Element &other) const {
    return kind == other.kind && scores == other.scores;
  }
};

/// The body of an op that computes an element from its indices.
struct Frame {
  Operation *op = nullptr;
  ArrayRef<Element> indices;
};

class Evaluator {
public:
  explicit Evaluator(Value batch) : batch(batch) {}
  Element getElement(Value tensor, ArrayRef<Element> indices);

private:
  Element getElementOf(Operation *op, unsigned result, ArrayRef<Element> indices);
  Element getArgument(BlockArgument argument, const Frame &frame);
  Element getScalar(Value value, const Frame &frame);
  /// An op of `arith` on scalars, or on the elements of tensors at the same place.
  Element compute(Operation *op, function_ref<Element(Value)> getOperand);

  Value batch;
  /// Bounds both the depth of the recursion and what an expression with shared parts takes.
  unsigned left = 256;
};

} // namespace

static Element getConstant(Value value) {
  if (matchPattern(value, m_AnyZeroFloat()))
    return Element::Zero;
  if (getElementTypeOrSelf(value.getType()).isInteger(1)) {
    if (matchPattern(value, m_One()))
      return Element::True;
    if (matchPattern(value, m_Zero()))
      return Element::False;
  }
  return Element::Unknown;
}

/// A comparison of s with the position of a token that sees it.
static Element compare(arith::CmpIPredicate predicate, Element left, Element right) {
  using arith::CmpIPredicate;
  bool isColumnFirst = left == Element::Column && right == Element::Position;
  if (!isColumnFirst && !(left == Element::Position && right == Element::Column))
    return Element::Unknown;
  switch (predicate) { // neither is negative
  case CmpIPredicate::sle:
  case CmpIPredicate::ule:
    return isColumnFirst ? Element::True : Element::Unknown;
  case CmpIPredicate::sge:
  case CmpIPredicate::uge:
    return isColumnFirst ? Element::Unknown : Element::True;
  case CmpIPredicate::sgt:
  case CmpIPredicate::ugt:
    return isColumnFirst ? Element::False : Element::Unknown;
  case CmpIPredicate::slt:
  case CmpIPredicate::ult:
    return isColumnFirst ? Element::Unknown : Element::False;
  case CmpIPredicate::eq:
  case CmpIPredicate::ne:
    return Element::Unknown;
  }
  return Element::Unknown;
}

Element Evaluator::compute(Operation *op, function_ref<Element(Value)> getOperand) {
  if (auto sum = dyn_cast<arith::AddFOp>(op)) {
    Element lhs = getOperand(sum.getLhs()), rhs = getOperand(sum.getRhs());
    return lhs == Element::Zero ? rhs : rhs == Element::Zero ? lhs : Element();
  }
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    Element condition = getOperand(choice.getCondition());
    return condition == Element::True    ? getOperand(choice.getTrueValue())
           : condition == Element::False ? getOperand(choice.getFalseValue())
                                         : Element();
  }
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return compare(comparison.getPredicate(), getOperand(comparison.getLhs()),
                   getOperand(comparison.getRhs()));
  // Positions are below 2³¹.
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op)) {
    Type to = getElementTypeOrSelf(op->getResult(0).getType());
    Element from = getOperand(op->getOperand(0));
    bool isNumber = from == Element::Column || from == Element::Position;
    return isNumber && (to.isIndex() || to.getIntOrFloatBitWidth() >= 32) ? from : Element();
  }
  return {};
}

Element Evaluator::getArgument(BlockArgument argument, const Frame &frame) {
  if (!frame.op || argument.getOwner()->getParentOp() != frame.op)
    return {};
  if (isa<tensor::GenerateOp>(frame.op))
    return frame.indices[argument.getArgNumber()];
  auto generic = cast<linalg::GenericOp>(frame.op);
  OpOperand *operand = generic.getMatchingOpOperand(argument);
  if (!operand || !generic.isDpsInput(operand))
    return {};
  if (!isa<RankedTensorType>(operand->get().getType()))
    return getScalar(operand->get(), {});
  SmallVector<Element> indices;
  for (AffineExpr expression : generic.getMatchingIndexingMap(operand).getResults()) {
    auto dimension = dyn_cast<AffineDimExpr>(expression);
    indices.push_back(dimension ? frame.indices[dimension.getPosition()] : Element());
  }
  return getElement(operand->get(), indices);
}

Element Evaluator::getScalar(Value value, const Frame &frame) {
  if (left == 0)
    return {};
  --left;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getArgument(argument, frame);
  Operation *op = value.getDefiningOp();
  if (Element constant = getConstant(value); !(constant == Element::Unknown))
    return constant;
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return frame.op == op->getParentOp() ? frame.indices[index.getDim()] : Element();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<Element> indices;
    for (Value index : extract.getIndices())
      indices.push_back(getScalar(index, frame));
    return getElement(extract.getTensor(), indices);
  }
  return compute(op, [&](Value operand) { return getScalar(operand, frame); });
}

Element Evaluator::getElementOf(Operation *op, unsigned result, ArrayRef<Element> indices) {
  if (auto scores = dyn_cast<IndexScoresOp>(op))
    return scores.getBatch() == batch && indices[0] == Element::Token &&
                   indices[1] == Element::Column
               ? Element(scores)
               : Element();
  if (auto positions = dyn_cast<PositionsOp>(op))
    return positions.getBatch() == batch && indices[0] == Element::Token ? Element::Position
                                                                         : Element::Unknown;
  if (auto generate = dyn_cast<tensor::GenerateOp>(op))
    return getScalar(generate.getBody().front().getTerminator()->getOperand(0),
                     {generate, indices});
  if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op)) {
    SmallVector<Element> kept;
    for (auto [dimension, index] : llvm::enumerate(indices))
      if (!llvm::is_contained(broadcast.getDimensions(), int64_t(dimension)))
        kept.push_back(index);
    return getElement(broadcast.getInput(), kept);
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    OpOperand *init = generic.getDpsInitOperand(result);
    if (generic.getNumParallelLoops() != generic.getNumLoops() ||
        !generic.getMatchingIndexingMap(init).isIdentity())
      return {};
    return getScalar(generic.getMatchingYieldValue(init)->get(), {generic, indices});
  }
  if (op->hasTrait<OpTrait::Elementwise>())
    return compute(op, [&](Value operand) {
      return isa<RankedTensorType>(operand.getType()) ? getElement(operand, indices)
                                                      : getScalar(operand, {});
    });
  return {};
}

Element Evaluator::getElement(Value tensor, ArrayRef<Element> indices) {
  if (left == 0)
    return {};
  --left;
  if (Element constant = getConstant(tensor); !(constant == Element::Unknown))
    return constant;
  auto result = dyn_cast<OpResult>(tensor);
  return result ? getElementOf(result.getOwner(), result.getResultNumber(), indices) : Element();
}

VisibleScores strata::findVisibleScores(Value tensor, Value batch) {
  Element element = Evaluator(batch).getElement(tensor, {Element::Token, Element::Column});
  if (element == Element::Zero)
    return {VisibleScores::Zero, {}};
  if (element.kind == Element::Scores)
    return {VisibleScores::Scores, element.scores};
  return {};
}
