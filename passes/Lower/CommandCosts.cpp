//===- CommandCosts.cpp - What the commands of a step cost ----------------===//
//
// An op says its cost for sizes; a package needs a formula. All costs but those of experts' weights
// (which formulas leave out) are sums of terms that are linear in the tokens, the wanted tokens and
// the visible positions, these up to a limit perhaps: a few sizes give all factors exactly.
//
//===----------------------------------------------------------------------===//
#include "strata/passes/Lower/CommandCosts.h"

#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Strata/ModelAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>
#include <set>

using namespace mlir;
using namespace strata;

namespace {

/// Factors by the variable that they belong to, as attributes name it.
using Formula = std::map<std::string, double>;

/// The numbers of a cost that packages have, by name.
struct Number {
  StringRef name;
  double (*get)(const Cost &cost);
};

} // namespace

static const Number kNumbers[] = {
    {"activation_bytes",
     [](const Cost &cost) { return cost.activationBytesRead + cost.activationBytesWritten; }},
    {"cache_bytes_read", [](const Cost &cost) { return cost.cacheBytesRead; }},
    {"cache_bytes_written", [](const Cost &cost) { return cost.cacheBytesWritten; }},
    {"elementwise_flops", [](const Cost &cost) { return cost.elementwiseFlops; }},
    {"flops", [](const Cost &cost) { return cost.flops; }},
};

/// Sums and products of activations have no cost interface.
static Cost getArithmeticCost(Operation *op, const StepSizes &sizes) {
  Cost cost;
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                       : RankedTensorType();
  if (!isa<arith::AddFOp, arith::MulFOp>(op) || !type)
    return cost;
  cost.elementwiseFlops = sizes.tokens;
  for (int64_t size : type.getShape().drop_front())
    cost.elementwiseFlops *= double(size);
  // In a kernel of several ops they touch no memory of their own.
  if (!isa<KernelOp>(op->getParentOp())) {
    cost.activationBytesRead = 8 * cost.elementwiseFlops;
    cost.activationBytesWritten = 4 * cost.elementwiseFlops;
  }
  return cost;
}

static Cost getCost(Operation *op, const StepSizes &sizes) {
  Cost cost = getArithmeticCost(op, sizes);
  if (auto costly = dyn_cast<CostOpInterface>(op))
    cost += costly.getCost(sizes);
  if (auto kernel = dyn_cast<KernelOp>(op))
    for (Operation &inner : kernel.getBody().front())
      cost += getArithmeticCost(&inner, sizes);
  return cost;
}

/// Numbers of records that attention in `op` reads at most.
static std::set<double> getLimits(Operation *op) {
  std::set<double> limits;
  auto addWidth = [&](Value records) {
    limits.insert(double(cast<ShapedType>(records.getType()).getDimSize(1)));
  };
  op->walk([&](Operation *inner) {
    if (auto attention = dyn_cast<AttentionOp>(inner)) {
      for (const AttentionOp::Source &source : attention.getSources())
        if (source.rows)
          addWidth(source.rows);
        else if (source.selector.getKind() != SelectorKind::All)
          limits.insert(double(source.selector.getCount()));
    } else if (auto scores = dyn_cast<AttentionScoresOp>(inner)) {
      addWidth(scores.getRecords());
    } else if (auto partial = dyn_cast<PartialAttentionOp>(inner)) {
      addWidth(partial.getRecords());
    }
  });
  return limits;
}

/// Adds one number of the cost of `op` to a formula.
static void addTerms(Operation *op, const std::set<double> &limits, const Number &number,
                     double share, Formula &formula) {
  auto at = [&](double tokens, double wanted, double visible) {
    StepSizes sizes;
    sizes.tokens = tokens;
    sizes.wanted = wanted;
    sizes.visible = visible;
    return number.get(getCost(op, sizes));
  };
  auto add = [&](const std::string &variable, double factor) {
    if (factor != 0)
      formula[variable] += share * factor;
  };
  double fixed = at(0, 0, 0), token = at(1, 0, 0);
  add("fixed", fixed);
  add("tokens", token - fixed);
  add("wanted", at(0, 1, 0) - fixed);
  // Of the visible positions: the slope beyond all limits, and by how much it is greater before
  // each.
  double most = limits.empty() ? 1 : *limits.rbegin();
  double slope = at(1, 0, 2 * most + 1) - at(1, 0, 2 * most);
  add("visible", slope);
  for (auto limit = limits.rbegin(); limit != limits.rend(); ++limit) {
    double before = std::next(limit) == limits.rend() ? 0 : *std::next(limit);
    double own = (at(1, 0, *limit) - at(1, 0, before)) / (*limit - before);
    add("visible up to " + std::to_string(int64_t(*limit)), own - slope);
    slope = own;
  }
}

/// Does a command compute? Others look up records or move data.
static bool computes(Operation *command) {
  return command->getNumResults() == 0 && !command->hasTrait<OpTrait::IsTerminator>() &&
         !isa<LaunchRecordsOp, LaunchResolveOp, LaunchGatherOp, LaunchWriteBackOp, LaunchReloadOp,
              LaunchWaitOp>(command);
}

/// Elements of the matrices that a command multiplies by.
static double getMatrixElements(Operation *command) {
  double elements = 0;
  for (Value operand : command->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()); type && type.getRank() >= 2)
      elements += double(type.getNumElements());
  return elements;
}

static void setCost(Operation *command, ArrayRef<Operation *> sources, double share) {
  Builder builder(command->getContext());
  NamedAttrList numbers;
  for (const Number &number : kNumbers) {
    Formula formula;
    for (Operation *source : sources)
      addTerms(source, getLimits(source), number, share, formula);
    NamedAttrList terms;
    for (const auto &[variable, factor] : formula)
      terms.append(variable, builder.getF64FloatAttr(factor));
    if (!terms.empty())
      numbers.append(number.name, terms.getDictionary(command->getContext()));
  }
  if (!numbers.empty())
    command->setDiscardableAttr(kCostAttr, numbers.getDictionary(command->getContext()));
}

void CommandCosts::attach(Operation *source, Operation *first) {
  if (isa<CostOpInterface, arith::AddFOp, arith::MulFOp>(source))
    waiting.push_back(source);
  SmallVector<Operation *> commands;
  double elements = 0;
  for (Operation *op = first; op; op = op->getNextNode())
    if (computes(op)) {
      commands.push_back(op);
      elements += getMatrixElements(op);
    }
  if (commands.empty() || waiting.empty())
    return;
  if (elements == 0)
    setCost(commands.back(), waiting, 1);
  else
    for (Operation *command : commands)
      if (double own = getMatrixElements(command); own > 0)
        setCost(command, waiting, own / elements);
  waiting.clear();
}
