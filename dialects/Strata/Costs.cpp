//===- Costs.cpp - FLOPs and bytes of the model's ops ---------------------===//
#include "strata/dialects/Strata/IR.h"
#include "strata/dialects/Strata/StoredBytes.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace strata;

/// Elements of a value whose leading dimension, if dynamic, is the number of tokens.
static double elements(Value value, double tokens) {
  double count = 1;
  for (int64_t size : cast<ShapedType>(value.getType()).getShape())
    count *= ShapedType::isDynamic(size) ? tokens : double(size);
  return count;
}

static double staticElements(Value value) {
  return double(cast<ShapedType>(value.getType()).getNumElements());
}

/// Bytes of a weight; f32 where the operand is no weight of the checkpoint.
static double weightBytes(Value value, const StepSizes &sizes) {
  if (!value)
    return 0;
  if (auto weight = value.getDefiningOp<WeightOp>())
    return getWeightBytes(weight, sizes.weights);
  return 4 * staticElements(value);
}

/// Reads and writes of dense activations of `tokens` tokens; weights are given apart.
static Cost denseCost(ArrayRef<Value> inputs, ArrayRef<Value> weights, ArrayRef<Value> outputs,
                      const StepSizes &sizes, double tokens) {
  Cost cost;
  for (Value input : inputs)
    cost.activationBytesRead += 4 * elements(input, tokens);
  for (Value weight : weights)
    cost.weightBytes += weightBytes(weight, sizes);
  for (Value output : outputs)
    cost.activationBytesWritten += 4 * elements(output, tokens);
  return cost;
}

static Cost denseCost(ArrayRef<Value> inputs, ArrayRef<Value> weights, ArrayRef<Value> outputs,
                      const StepSizes &sizes) {
  return denseCost(inputs, weights, outputs, sizes, sizes.tokens);
}

/// An op that multiplies each token with weights of `elements` elements.
static Cost productCost(double elements, ArrayRef<Value> inputs, ArrayRef<Value> weights,
                        ArrayRef<Value> outputs, const StepSizes &sizes) {
  Cost cost = denseCost(inputs, weights, outputs, sizes);
  cost.flops = 2 * sizes.tokens * elements;
  return cost;
}

static Cost elementwiseCost(double flops, ArrayRef<Value> inputs, ArrayRef<Value> weights,
                            ArrayRef<Value> outputs, const StepSizes &sizes) {
  Cost cost = denseCost(inputs, weights, outputs, sizes);
  cost.elementwiseFlops = flops;
  return cost;
}

Cost EmbeddingOp::getCost(const StepSizes &sizes) {
  Cost cost = denseCost({getIds()}, {}, {getResult()}, sizes);
  double stored = weightBytes(getTable(), sizes) / staticElements(getTable());
  cost.weightBytes =
      stored * elements(getResult(), sizes.tokens); // only the rows that are looked up
  return cost;
}

Cost LinearOp::getCost(const StepSizes &sizes) {
  Cost cost = productCost(staticElements(getWeight()), {getInput()}, {getWeight(), getBias()},
                          {getResult()}, sizes);
  if (getBias())
    cost.elementwiseFlops = sizes.tokens * staticElements(getBias());
  return cost;
}

Cost HeadLinearOp::getCost(const StepSizes &sizes) {
  return productCost(staticElements(getWeight()), {getInput()}, {getWeight()}, {getResult()},
                     sizes);
}

Cost RmsNormOp::getCost(const StepSizes &sizes) {
  return elementwiseCost(4 * elements(getInput(), sizes.tokens), {getInput()}, {getWeight()},
                         {getResult()}, sizes);
}

Cost LayerNormOp::getCost(const StepSizes &sizes) {
  return elementwiseCost(7 * elements(getInput(), sizes.tokens), {getInput()},
                         {getWeight(), getBias()}, {getResult()}, sizes);
}

Cost RopeOp::getCost(const StepSizes &sizes) {
  double features = double(getInput().getType().getShape().back());
  double rotated = elements(getInput(), sizes.tokens) / features * double(getWidth());
  return elementwiseCost(3 * rotated, {getInput()}, {}, {getResult()}, sizes);
}

Cost HadamardOp::getCost(const StepSizes &sizes) {
  double count = elements(getInput(), sizes.tokens);
  return elementwiseCost(count * (std::log2(double(getInput().getType().getShape().back())) + 1),
                         {getInput()}, {}, {getResult()}, sizes);
}

Cost GatedMlpOp::getCost(const StepSizes &sizes) {
  double products = staticElements(getGate()) + staticElements(getUp()) + staticElements(getDown());
  Cost cost =
      productCost(products, {getInput()}, {getGate(), getUp(), getDown()}, {getResult()}, sizes);
  cost.elementwiseFlops = 5 * sizes.tokens * double(getGate().getType().getDimSize(0));
  return cost;
}

Cost RouteOp::getCost(const StepSizes &sizes) {
  return productCost(staticElements(getRouter()), {getInput()}, {getRouter(), getCorrection()},
                     {getExperts(), getWeights()}, sizes);
}

/// Bytes of the experts that at least one token chose, if each token chooses evenly.
static double distinctExpertBytes(double experts, double chosen, ArrayRef<Value> stacks,
                                  const StepSizes &sizes) {
  double distinct = experts * (1 - std::pow(1 - chosen / experts, sizes.tokens)), bytes = 0;
  for (Value stack : stacks)
    bytes += weightBytes(stack, sizes);
  return bytes / experts * distinct;
}

Cost MixtureOfExpertsOp::getCost(const StepSizes &sizes) {
  double experts = double(getGate().getType().getDimSize(0)),
         chosen = double(getExperts().getType().getDimSize(1));
  double stacks = staticElements(getGate()) + staticElements(getUp()) + staticElements(getDown());
  Cost cost = productCost(chosen * stacks / experts, {getInput(), getExperts(), getWeights()}, {},
                          {getResult()}, sizes);
  cost.elementwiseFlops = 5 * sizes.tokens * chosen * double(getGate().getType().getDimSize(1));
  cost.weightBytes = distinctExpertBytes(experts, chosen, {getGate(), getUp(), getDown()}, sizes);
  return cost;
}

Cost GatedLinearOp::getCost(const StepSizes &sizes) {
  Cost cost = productCost(staticElements(getGate()) + staticElements(getUp()), {getInput()},
                          {getGate(), getUp()}, {getResult()}, sizes);
  cost.elementwiseFlops = 5 * sizes.tokens * double(getGate().getType().getDimSize(0));
  return cost;
}

Cost ExpertOutputsOp::getCost(const StepSizes &sizes) {
  double experts = double(getGate().getType().getDimSize(0)),
         chosen = double(getExperts().getType().getDimSize(1));
  double stacks = staticElements(getGate()) + staticElements(getUp()) + staticElements(getDown());
  Cost cost =
      productCost(chosen * stacks / experts, {getInput(), getExperts()}, {}, {getResult()}, sizes);
  cost.elementwiseFlops = 5 * sizes.tokens * chosen * double(getGate().getType().getDimSize(1));
  cost.weightBytes = distinctExpertBytes(experts, chosen, {getGate(), getUp(), getDown()}, sizes);
  return cost;
}

Cost CombineExpertsOp::getCost(const StepSizes &sizes) {
  return elementwiseCost(2 * elements(getOutputs(), sizes.tokens), {getOutputs(), getWeights()}, {},
                         {getResult()}, sizes);
}

Cost AppendOp::getCost(const StepSizes &sizes) {
  Cost cost;
  for (Value value : getValues())
    cost.activationBytesRead += 4 * elements(value, sizes.tokens);
  cost.cacheBytesWritten = sizes.tokens * getRecordBytes(getCache().getType(), sizes.caches);
  return cost;
}

/// Scoring reads every visible key once and multiplies it with all heads.
static Cost scanCost(Value query, Value headWeights, CacheType cache, const StepSizes &sizes) {
  Cost cost = denseCost({query, headWeights}, {}, {}, sizes);
  cost.flops = 2 * elements(query, sizes.tokens) * sizes.visible;
  cost.cacheBytesRead = sizes.tokens * sizes.visible * getRecordBytes(cache, sizes.caches);
  return cost;
}

Cost IndexScoresOp::getCost(const StepSizes &sizes) {
  Cost cost = scanCost(getQuery(), getHeadWeights(), getCache().getType(), sizes);
  cost.activationBytesWritten = 4 * sizes.tokens * sizes.visible;
  return cost;
}

Cost TopKOp::getCost(const StepSizes &sizes) {
  Cost cost;
  cost.activationBytesRead = 4 * sizes.tokens * sizes.visible;
  cost.activationBytesWritten = 4 * elements(getRows(), sizes.tokens);
  return cost;
}

Cost SelectOp::getCost(const StepSizes &sizes) {
  Cost cost = scanCost(getQuery(), getHeadWeights(), getCache().getType(), sizes);
  cost.activationBytesWritten = 4 * elements(getRows(), sizes.tokens);
  return cost;
}

/// Of keys and values of `width` elements in all, of `k` listed records.
static Cost listedCost(Value query, CacheType cache, Value records, double width, Value result,
                       const StepSizes &sizes) {
  Cost cost = denseCost({query}, {}, {result}, sizes);
  double heads = double(cast<ShapedType>(query.getType()).getDimSize(1));
  double count = sizes.visibleUpTo(double(cast<ShapedType>(records.getType()).getDimSize(1)));
  cost.activationBytesRead += 4 * elements(records, sizes.tokens);
  cost.flops += 2 * sizes.tokens * heads * count * width;
  cost.cacheBytesRead += sizes.tokens * count * getRecordBytes(cache, sizes.caches);
  return cost;
}

/// What is scored first and what is added later are all rows together: the first counts them.
Cost AttentionScoresOp::getCost(const StepSizes &sizes) {
  if (getInto())
    return Cost();
  CacheType cache = getCache().getType();
  return listedCost(getQuery(), cache, getRecords(), double(cache.getKeyWidth()), getResult(),
                    sizes);
}

/// As with scores: the attention that goes on counts its other sources alone.
Cost PartialAttentionOp::getCost(const StepSizes &sizes) {
  CacheType cache = getCache().getType();
  return listedCost(getQuery(), cache, getRecords(),
                    double(cache.getKeyWidth() + cache.getValueWidth()), getResult(), sizes);
}

CostKind AttentionScoresOp::getCostKind() { return CostKind::Attention; }
CostKind PartialAttentionOp::getCostKind() { return CostKind::Attention; }

Cost AttentionOp::getCost(const StepSizes &sizes) {
  Cost cost = denseCost({getQuery()}, {}, {getResult()}, sizes);
  if (getScores())
    cost.activationBytesRead += 4 * elements(getScores(), sizes.tokens);
  if (getPartial())
    cost.activationBytesRead += 4 * elements(getPartial(), sizes.tokens);
  double heads = double(getQuery().getType().getDimSize(1));
  for (const Source &source : getSources()) {
    auto cache = cast<CacheType>(source.cache.getType());
    if (source.rows && getPartial())
      continue;
    double records = sizes.visible;
    if (source.rows) {
      records = sizes.visibleUpTo(double(cast<ShapedType>(source.rows.getType()).getDimSize(1)));
      cost.activationBytesRead += 4 * elements(source.rows, sizes.tokens);
    } else if (source.selector.getKind() != SelectorKind::All) {
      records = sizes.visibleUpTo(double(source.selector.getCount()));
    }
    bool isScored = source.rows && getScores();
    cost.flops += 2 * sizes.tokens * heads * records *
                  double((isScored ? 0 : cache.getKeyWidth()) + cache.getValueWidth());
    cost.cacheBytesRead += sizes.tokens * records * getRecordBytes(cache, sizes.caches);
  }
  return cost;
}

Cost LogitsOp::getCost(const StepSizes &sizes) {
  Cost cost = denseCost({getInput()}, {getWeight()}, {getResult()}, sizes, sizes.wanted);
  cost.flops = 2 * sizes.wanted * staticElements(getWeight());
  return cost;
}

CostKind IndexScoresOp::getCostKind() { return CostKind::Scan; }
CostKind TopKOp::getCostKind() { return CostKind::Scan; }
CostKind SelectOp::getCostKind() { return CostKind::Scan; }
CostKind AttentionOp::getCostKind() { return CostKind::Attention; }
