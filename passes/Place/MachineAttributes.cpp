//===- MachineAttributes.cpp - What a placed module says of it ------------===//
#include "strata/passes/Place/MachineAttributes.h"

#include "strata/passes/Place/PredictedTimes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace strata;

void strata::describeMachine(ModuleOp module, const Machine &machine, const PlaceSizes &sizes,
                             uint64_t nearBytes) {
  Builder builder(module.getContext());
  module->setAttr("tier.machine", builder.getStringAttr(machine.name));
  SmallVector<NamedAttribute> capacities;
  SmallVector<Attribute> names, engines;
  for (auto [number, tier] : llvm::enumerate(machine.tiers)) {
    // The module is the whole model, of which each device has a part.
    uint64_t bytes = number == 0 ? nearBytes : tier.capacity * uint64_t(machine.devices);
    names.push_back(builder.getStringAttr(tier.name));
    capacities.push_back(
        builder.getNamedAttr(tier.name, builder.getI64IntegerAttr(int64_t(bytes))));
  }
  module->setAttr("tier.capacity", builder.getDictionaryAttr(capacities));
  module->setAttr("tier.tiers", builder.getArrayAttr(names));
  for (const MachineEngine &engine : machine.engines)
    engines.push_back(builder.getDictionaryAttr({
        builder.getNamedAttr("name", builder.getStringAttr(engine.name)),
        builder.getNamedAttr("bandwidth", builder.getF64FloatAttr(engine.bandwidth)),
        builder.getNamedAttr("operation_seconds", builder.getF64FloatAttr(engine.operationSeconds)),
        builder.getNamedAttr("from", builder.getI64IntegerAttr(engine.from)),
        builder.getNamedAttr("to", builder.getI64IntegerAttr(engine.to)),
    }));
  module->setAttr("tier.engines", builder.getArrayAttr(engines));
  module->setAttr("tier.context", builder.getI64IntegerAttr(sizes.context));
  module->setAttr("tier.batch", builder.getI64IntegerAttr(sizes.batch));
  module->setAttr("tier.tokens", builder.getI64IntegerAttr(sizes.tokens));
  PredictedTimes(module, machine, sizes).describe(module);
}
