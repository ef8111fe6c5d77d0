//===- Ops.cpp - Verifiers of the model's ops -----------------------------===//
//
// Every message begins with the number of the constraint in the op's description.
//
//===----------------------------------------------------------------------===//
#include "strata/dialects/Strata/IR.h"

using namespace mlir;
using namespace strata;

static int64_t dim(Value value, unsigned index) {
  return cast<ShapedType>(value.getType()).getDimSize(index);
}

static int64_t lastDim(Value value) { return cast<ShapedType>(value.getType()).getShape().back(); }

/// Checks that a size is what it must be, if both are known.
static LogicalResult expectSize(Operation *op, StringRef constraint, const Twine &what,
                                int64_t expected, int64_t found) {
  if (ShapedType::isDynamic(expected) || ShapedType::isDynamic(found) || expected == found)
    return success();
  return op->emitOpError() << "(" << constraint << ") expected " << what << " to be " << expected
                           << " but got " << found;
}

static LogicalResult expectShape(Operation *op, StringRef constraint, const Twine &what,
                                 ArrayRef<int64_t> expected, Value found) {
  auto shape = cast<ShapedType>(found.getType()).getShape();
  bool equal = shape.size() == expected.size();
  for (auto [want, have] : llvm::zip(expected, shape))
    equal &= ShapedType::isDynamic(want) || ShapedType::isDynamic(have) || want == have;
  if (equal)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << "(" << constraint << ") expected " << what << " of shape [";
  auto print = [&](int64_t size) {
    ShapedType::isDynamic(size) ? diagnostic << "?" : diagnostic << size;
  };
  llvm::interleave(expected, print, [&] { diagnostic << ", "; });
  diagnostic << "] but got [";
  llvm::interleave(shape, print, [&] { diagnostic << ", "; });
  return diagnostic << "]";
}

LogicalResult EmbeddingOp::verify() {
  return expectSize(*this, "embedding_c1", "the result's features", dim(getTable(), 1),
                    dim(getResult(), 1));
}

LogicalResult LinearOp::verify() {
  if (failed(expectSize(*this, "linear_c1", "the weight's inputs", dim(getInput(), 1),
                        dim(getWeight(), 1))) ||
      failed(expectSize(*this, "linear_c2", "the result's features", dim(getWeight(), 0),
                        dim(getResult(), 1))))
    return failure();
  return getBias() ? expectSize(*this, "linear_c3", "the bias's size", dim(getWeight(), 0),
                                dim(getBias(), 0))
                   : success();
}

LogicalResult HeadLinearOp::verify() {
  unsigned inputs = getTransposed() ? 1 : 2, outputs = getTransposed() ? 2 : 1;
  int64_t heads = dim(getInput(), 1);
  if (failed(
          expectSize(*this, "head_linear_c1", "the weight's heads", heads, dim(getWeight(), 0))) ||
      failed(
          expectSize(*this, "head_linear_c1", "the result's heads", heads, dim(getResult(), 1))) ||
      failed(expectSize(*this, "head_linear_c2", "the weight's inputs", dim(getInput(), 2),
                        dim(getWeight(), inputs))))
    return failure();
  return expectSize(*this, "head_linear_c3", "the result's features", dim(getWeight(), outputs),
                    dim(getResult(), 2));
}

static LogicalResult expectNotNegative(Operation *op, StringRef constraint, StringRef what,
                                       const APFloat &value) {
  if (!value.isNegative() && !value.isNaN())
    return success();
  return op->emitOpError() << "(" << constraint << ") expected " << what
                           << " to be at least 0 but got " << value.convertToDouble();
}

LogicalResult RmsNormOp::verify() {
  if (getWeight() && failed(expectSize(*this, "rms_norm_c1", "the weight's size",
                                       lastDim(getInput()), dim(getWeight(), 0))))
    return failure();
  return expectNotNegative(*this, "rms_norm_c2", "epsilon", getEpsilon());
}

LogicalResult LayerNormOp::verify() {
  if (failed(expectSize(*this, "layer_norm_c1", "the weight's size", lastDim(getInput()),
                        dim(getWeight(), 0))) ||
      failed(expectSize(*this, "layer_norm_c1", "the bias's size", lastDim(getInput()),
                        dim(getBias(), 0))))
    return failure();
  return expectNotNegative(*this, "layer_norm_c2", "epsilon", getEpsilon());
}

LogicalResult RopeOp::verify() {
  int64_t offset = getOffset(), width = getWidth(), features = lastDim(getInput());
  if (width < 0 || width % 2)
    return emitOpError() << "(rope_c1) expected an even width of at least 0 but got " << width;
  if (offset < 0 || (!ShapedType::isDynamic(features) && width > features - offset))
    return emitOpError() << "(rope_c2) expected the rotated elements to lie within " << features
                         << " but got " << offset << " to " << offset + width;
  if (getTable().getLayout() == RopeLayout::None)
    return emitOpError() << "(rope_c3) expected the layout interleaved or half but got none";
  return success();
}

LogicalResult HadamardOp::verify() {
  int64_t width = lastDim(getInput());
  if (width < 1 || !llvm::isPowerOf2_64(width))
    return emitOpError()
           << "(hadamard_c1) expected the last dimension to be a power of two but got " << width;
  return success();
}

LogicalResult GatedMlpOp::verify() {
  int64_t width = dim(getGate(), 0), features = dim(getInput(), 1);
  if (failed(expectShape(*this, "gated_mlp_c1", "gate", {width, features}, getGate())) ||
      failed(expectShape(*this, "gated_mlp_c1", "up", {width, features}, getUp())))
    return failure();
  if (failed(expectShape(*this, "gated_mlp_c1", "down", {features, width}, getDown())))
    return failure();
  return expectSize(*this, "gated_mlp_c1", "the result's features", features, dim(getResult(), 1));
}

LogicalResult RouteOp::verify() {
  int64_t experts = dim(getRouter(), 0), k = dim(getExperts(), 1);
  int64_t groups = getGroups(), topGroups = getTopGroups();
  if (failed(expectSize(*this, "route_c1", "the router's inputs", dim(getInput(), 1),
                        dim(getRouter(), 1))))
    return failure();
  if (getCorrection() && failed(expectSize(*this, "route_c1", "the correction's size", experts,
                                           dim(getCorrection(), 0))))
    return failure();
  if (k < 1 || k != dim(getWeights(), 1))
    return emitOpError() << "(route_c2) expected experts and weights with the same number of "
                            "columns, at least 1, but got "
                         << k << " and " << dim(getWeights(), 1);
  if (groups < 1 || experts % groups || topGroups < 1 || topGroups > groups ||
      k > experts / groups * topGroups)
    return emitOpError() << "(route_c3) expected groups that divide " << experts
                         << " experts and hold " << k << " in the chosen ones but got " << groups
                         << " groups, " << topGroups << " chosen";
  if (getGroupScore() == GroupScore::TopTwoSum && groups > 1 && experts / groups < 2)
    return emitOpError() << "(route_c4) expected at least 2 experts in a group but got "
                         << experts / groups;
  return success();
}

LogicalResult MixtureOfExpertsOp::verify() {
  int64_t experts = dim(getGate(), 0), width = dim(getGate(), 1), features = dim(getInput(), 1);
  if (failed(expectShape(*this, "mixture_c1", "gate", {experts, width, features}, getGate())) ||
      failed(expectShape(*this, "mixture_c1", "up", {experts, width, features}, getUp())) ||
      failed(expectShape(*this, "mixture_c1", "down", {experts, features, width}, getDown())))
    return failure();
  if (failed(
          expectSize(*this, "mixture_c1", "the result's features", features, dim(getResult(), 1))))
    return failure();
  return expectSize(*this, "mixture_c2", "the columns of weights", dim(getExperts(), 1),
                    dim(getWeights(), 1));
}

LogicalResult AppendOp::verify() {
  ArrayRef<CacheFieldAttr> fields = getCache().getType().getFields();
  if (fields.size() != getValues().size())
    return emitOpError() << "(append_c1) expected " << fields.size() << " operands but got "
                         << getValues().size();
  for (auto [field, value] : llvm::zip(fields, getValues())) {
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    if (field.getHeads() != 1)
      shape.push_back(field.getHeads());
    shape.push_back(field.getWidth());
    if (failed(expectShape(*this, "append_c2", "an operand", shape, value)))
      return failure();
  }
  return success();
}

/// The rules that index_scores and select share.
static LogicalResult verifyIndexer(Operation *op, StringRef name, Value query, Value headWeights,
                                   CacheType cache) {
  std::string shapes = (name + "_c1").str(), key = (name + "_c2").str();
  if (failed(expectSize(op, shapes, "the columns of the head weights", dim(query, 1),
                        dim(headWeights, 1))))
    return failure();
  if (cache.getFields().size() != 1 || cache.getFields().front().getRole() != FieldRole::Key ||
      cache.getFields().front().getHeads() != 1)
    return op->emitOpError() << "(" << key
                             << ") expected a cache with one key field of one head but got "
                             << cache;
  return expectSize(op, key, "the width of the cached keys", dim(query, 2), cache.getKeyWidth());
}

static LogicalResult verifyK(Operation *op, StringRef constraint, int64_t k, Value rows) {
  if (k < 1)
    return op->emitOpError() << "(" << constraint << ") expected a positive k but got " << k;
  return expectSize(op, constraint, "the columns of the result", k, dim(rows, 1));
}

LogicalResult IndexScoresOp::verify() {
  return verifyIndexer(*this, "index_scores", getQuery(), getHeadWeights(), getCache().getType());
}

LogicalResult TopKOp::verify() { return verifyK(*this, "top_k_c1", getK(), getRows()); }

LogicalResult SelectOp::verify() {
  if (failed(verifyIndexer(*this, "select", getQuery(), getHeadWeights(), getCache().getType())))
    return failure();
  return verifyK(*this, "select_c3", getK(), getRows());
}

LogicalResult LogitsOp::verify() {
  if (failed(expectSize(*this, "logits_c1", "the weight's inputs", dim(getInput(), 1),
                        dim(getWeight(), 1))))
    return failure();
  return expectSize(*this, "logits_c2", "the result's columns", dim(getWeight(), 0),
                    dim(getResult(), 1));
}

LogicalResult GatedLinearOp::verify() {
  int64_t width = dim(getGate(), 0), features = dim(getInput(), 1);
  if (failed(expectShape(*this, "gated_linear_c1", "gate", {width, features}, getGate())) ||
      failed(expectShape(*this, "gated_linear_c1", "up", {width, features}, getUp())))
    return failure();
  return expectSize(*this, "gated_linear_c1", "the result's features", width, dim(getResult(), 1));
}

LogicalResult ExpertOutputsOp::verify() {
  int64_t experts = dim(getGate(), 0), width = dim(getGate(), 1), features = dim(getInput(), 1);
  if (failed(
          expectShape(*this, "expert_outputs_c1", "gate", {experts, width, features}, getGate())) ||
      failed(expectShape(*this, "expert_outputs_c1", "up", {experts, width, features}, getUp())) ||
      failed(
          expectShape(*this, "expert_outputs_c1", "down", {experts, features, width}, getDown())))
    return failure();
  return expectShape(*this, "expert_outputs_c2", "a result",
                     {ShapedType::kDynamic, dim(getExperts(), 1), features}, getResult());
}

LogicalResult CombineExpertsOp::verify() {
  if (failed(expectShape(*this, "combine_experts_c1", "weights",
                         {ShapedType::kDynamic, dim(getOutputs(), 1)}, getWeights())))
    return failure();
  return expectSize(*this, "combine_experts_c1", "the result's features", dim(getOutputs(), 2),
                    dim(getResult(), 1));
}

static LogicalResult verifyPageSize(Operation *op, StringRef constraint, int64_t size) {
  if (size >= 1)
    return success();
  return op->emitOpError() << "(" << constraint
                           << ") expected pages of at least 1 record but got " << size;
}

LogicalResult RecordsOp::verify() {
  return verifyPageSize(*this, "records_c1", int64_t(getPageSize()));
}

LogicalResult OwnRecordsOp::verify() {
  return verifyPageSize(*this, "own_records_c1", int64_t(getPageSize()));
}
