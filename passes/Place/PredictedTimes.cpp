//===- PredictedTimes.cpp - How long ops of a step take -------------------===//
#include "strata/passes/Place/PredictedTimes.h"

#include "strata/dialects/Strata/ModelAttributes.h"

using namespace mlir;
using namespace strata;

/// Of the module, F64 array: operations and bytes per second, seconds of a launch, devices.
static constexpr StringLiteral kRatesAttr = "tier.rates";

PredictedTimes::PredictedTimes(ModuleOp module, const Machine &machine, const PlaceSizes &sizes)
    : launchSeconds(machine.launchSeconds), degree(double(machine.partition.tensor)) {
  auto compute = module->getAttrOfType<TypeAttr>(kComputeAttr);
  bool isNarrow = compute && compute.getValue().isBF16();
  flops = machine.efficiency * (isNarrow ? machine.bf16Flops : machine.f32Flops);
  bandwidth = machine.efficiency * machine.tiers.front().bandwidth;
  step.tokens = step.wanted = double(sizes.batch);
  step.visible = double(sizes.context);
}

PredictedTimes::PredictedTimes(ModuleOp module) {
  auto rates = module->getAttrOfType<DenseF64ArrayAttr>(kRatesAttr);
  if (rates && rates.size() == 4) {
    flops = rates[0];
    bandwidth = rates[1];
    launchSeconds = rates[2];
    degree = rates[3];
  }
  if (auto batch = module->getAttrOfType<IntegerAttr>("tier.batch"))
    step.tokens = step.wanted = double(batch.getInt());
  if (auto context = module->getAttrOfType<IntegerAttr>("tier.context"))
    step.visible = double(context.getInt());
}

void PredictedTimes::describe(ModuleOp module) const {
  module->setAttr(kRatesAttr, DenseF64ArrayAttr::get(module.getContext(),
                                                     {flops, bandwidth, launchSeconds, degree}));
}

double PredictedTimes::getSeconds(Operation *op) const {
  auto costly = dyn_cast<CostOpInterface>(op);
  if (!costly)
    return 0;
  Cost cost = costly.getCost(step);
  // Caches and activations are whole on each device.
  double bytes = cost.weightBytes / degree + cost.cacheBytesRead + cost.cacheBytesWritten +
                 cost.activationBytesRead + cost.activationBytesWritten;
  double seconds = 0;
  if (flops > 0)
    seconds = (cost.flops + cost.elementwiseFlops) / degree / flops;
  if (bandwidth > 0)
    seconds = std::max(seconds, bytes / bandwidth);
  return seconds + launchSeconds;
}
