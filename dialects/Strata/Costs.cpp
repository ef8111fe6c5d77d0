//===- Costs.cpp - FLOPs and bytes of the model's ops ---------------------===//
#include "strata/dialects/Strata/IR.h"

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

/// Bytes of a weight as the checkpoint stores it; f32 where the operand is no weight of the
/// checkpoint.
static double weightBytes(Value value) {
  if (!value)
    return 0;
  if (auto weight = value.getDefiningOp<WeightOp>())
    return weight.getStoredBytes();
  return 4 * staticElements(value);
}

/// Reads and writes of dense activations; weights are given apart.
static Cost denseCost(double flops, ArrayRef<Value> inputs, ArrayRef<Value> weights,
                      ArrayRef<Value> outputs, double tokens) {
  Cost cost;
  cost.flops = flops;
  for (Value input : inputs)
    cost.activationBytesRead += 4 * elements(input, tokens);
  for (Value weight : weights)
    cost.weightBytes += weightBytes(weight);
  for (Value output : outputs)
    cost.activationBytesWritten += 4 * elements(output, tokens);
  return cost;
}

Cost EmbeddingOp::getCost(const StepSizes &sizes) {
  Cost cost = denseCost(0, {getIds()}, {}, {getResult()}, sizes.tokens);
  double stored = weightBytes(getTable()) / staticElements(getTable());
  cost.weightBytes =
      stored * elements(getResult(), sizes.tokens); // only the rows that are looked up
  return cost;
}

Cost LinearOp::getCost(const StepSizes &sizes) {
  double flops = 2 * sizes.tokens * staticElements(getWeight());
  return denseCost(flops, {getInput()}, {getWeight(), getBias()}, {getResult()}, sizes.tokens);
}

Cost HeadLinearOp::getCost(const StepSizes &sizes) {
  double flops = 2 * sizes.tokens * staticElements(getWeight());
  return denseCost(flops, {getInput()}, {getWeight()}, {getResult()}, sizes.tokens);
}

Cost RmsNormOp::getCost(const StepSizes &sizes) {
  return denseCost(4 * elements(getInput(), sizes.tokens), {getInput()}, {getWeight()},
                   {getResult()}, sizes.tokens);
}

Cost LayerNormOp::getCost(const StepSizes &sizes) {
  return denseCost(7 * elements(getInput(), sizes.tokens), {getInput()}, {getWeight(), getBias()},
                   {getResult()}, sizes.tokens);
}

Cost RopeOp::getCost(const StepSizes &sizes) {
  double features = double(getInput().getType().getShape().back());
  double rotated = elements(getInput(), sizes.tokens) / features * double(getWidth());
  return denseCost(3 * rotated, {getInput()}, {}, {getResult()}, sizes.tokens);
}

Cost HadamardOp::getCost(const StepSizes &sizes) {
  double count = elements(getInput(), sizes.tokens);
  return denseCost(count * (std::log2(double(getInput().getType().getShape().back())) + 1),
                   {getInput()}, {}, {getResult()}, sizes.tokens);
}

Cost GatedMlpOp::getCost(const StepSizes &sizes) {
  double products = staticElements(getGate()) + staticElements(getUp()) + staticElements(getDown());
  double activations = 5 * double(getGate().getType().getDimSize(0));
  return denseCost(sizes.tokens * (2 * products + activations), {getInput()},
                   {getGate(), getUp(), getDown()}, {getResult()}, sizes.tokens);
}

Cost RouteOp::getCost(const StepSizes &sizes) {
  double flops = 2 * sizes.tokens * staticElements(getRouter());
  return denseCost(flops, {getInput()}, {getRouter(), getCorrection()},
                   {getExperts(), getWeights()}, sizes.tokens);
}

/// Bytes of the experts that at least one token chose, if each token chooses evenly.
static double distinctExpertBytes(double experts, double chosen, ArrayRef<Value> stacks,
                                  double tokens) {
  double distinct = experts * (1 - std::pow(1 - chosen / experts, tokens)), bytes = 0;
  for (Value stack : stacks)
    bytes += weightBytes(stack);
  return bytes / experts * distinct;
}

Cost MixtureOfExpertsOp::getCost(const StepSizes &sizes) {
  double experts = double(getGate().getType().getDimSize(0)),
         chosen = double(getExperts().getType().getDimSize(1));
  double products =
      (staticElements(getGate()) + staticElements(getUp()) + staticElements(getDown())) / experts;
  double activations = 5 * double(getGate().getType().getDimSize(1));
  Cost cost = denseCost(sizes.tokens * chosen * (2 * products + activations),
                        {getInput(), getExperts(), getWeights()}, {}, {getResult()}, sizes.tokens);
  cost.weightBytes =
      distinctExpertBytes(experts, chosen, {getGate(), getUp(), getDown()}, sizes.tokens);
  return cost;
}

Cost GatedLinearOp::getCost(const StepSizes &sizes) {
  double flops = 2 * (staticElements(getGate()) + staticElements(getUp())) +
                 5 * double(getGate().getType().getDimSize(0));
  return denseCost(sizes.tokens * flops, {getInput()}, {getGate(), getUp()}, {getResult()},
                   sizes.tokens);
}

Cost ExpertOutputsOp::getCost(const StepSizes &sizes) {
  double experts = double(getGate().getType().getDimSize(0)),
         chosen = double(getExperts().getType().getDimSize(1));
  double products =
      (staticElements(getGate()) + staticElements(getUp()) + staticElements(getDown())) / experts;
  double activations = 5 * double(getGate().getType().getDimSize(1));
  Cost cost = denseCost(sizes.tokens * chosen * (2 * products + activations),
                        {getInput(), getExperts()}, {}, {getResult()}, sizes.tokens);
  cost.weightBytes =
      distinctExpertBytes(experts, chosen, {getGate(), getUp(), getDown()}, sizes.tokens);
  return cost;
}

Cost CombineExpertsOp::getCost(const StepSizes &sizes) {
  return denseCost(2 * elements(getOutputs(), sizes.tokens), {getOutputs(), getWeights()}, {},
                   {getResult()}, sizes.tokens);
}

Cost AppendOp::getCost(const StepSizes &sizes) {
  Cost cost;
  for (Value value : getValues())
    cost.activationBytesRead += 4 * elements(value, sizes.tokens);
  cost.cacheBytesWritten = sizes.tokens * double(getCache().getType().getRecordBytes());
  return cost;
}

/// Scoring reads every visible key once and multiplies it with all heads.
static Cost scanCost(Value query, Value headWeights, CacheType cache, const StepSizes &sizes) {
  Cost cost = denseCost(0, {query, headWeights}, {}, {}, sizes.tokens);
  cost.flops = 2 * elements(query, sizes.tokens) * sizes.visible;
  cost.cacheBytesRead = sizes.tokens * sizes.visible * double(cache.getRecordBytes());
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

Cost AttentionOp::getCost(const StepSizes &sizes) {
  Cost cost = denseCost(0, {getQuery()}, {}, {getResult()}, sizes.tokens);
  double heads = double(getQuery().getType().getDimSize(1));
  for (const Source &source : getSources()) {
    auto cache = cast<CacheType>(source.cache.getType());
    double records = sizes.visible;
    if (source.rows) {
      records = std::min(records, double(cast<ShapedType>(source.rows.getType()).getDimSize(1)));
      cost.activationBytesRead += 4 * elements(source.rows, sizes.tokens);
    } else if (source.selector.getKind() != SelectorKind::All) {
      records = std::min(records, double(source.selector.getCount()));
    }
    cost.flops +=
        2 * sizes.tokens * heads * records * double(cache.getKeyWidth() + cache.getValueWidth());
    cost.cacheBytesRead += sizes.tokens * records * double(cache.getRecordBytes());
  }
  return cost;
}

Cost LogitsOp::getCost(const StepSizes &sizes) {
  double flops = 2 * sizes.wanted * staticElements(getWeight());
  return denseCost(flops, {getInput()}, {getWeight()}, {getResult()}, sizes.wanted);
}
