//===- MachineAttributes.h - What a placed module says of it ----*- C++ -*-===//
#ifndef STRATA_PASSES_PLACE_MACHINEATTRIBUTES_H
#define STRATA_PASSES_PLACE_MACHINEATTRIBUTES_H

#include "strata/passes/Place/PlaceProblem.h"

namespace strata {

/// Writes into a module what the phases behind, the runtime and the simulator must know of the
/// machine and the plan: tiers with their capacities (the near one's is `nearBytes`), engines,
/// rates and sizes.
void describeMachine(mlir::ModuleOp module, const Machine &machine, const PlaceSizes &sizes,
                     uint64_t nearBytes);

} // namespace strata

#endif // STRATA_PASSES_PLACE_MACHINEATTRIBUTES_H
