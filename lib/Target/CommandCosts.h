//===- CommandCosts.h - What a command costs, in a manifest -----*- C++ -*-===//
#ifndef STRATA_LIB_TARGET_COMMANDCOSTS_H
#define STRATA_LIB_TARGET_COMMANDCOSTS_H

#include "strata-rt/package_generated.h"

#include "mlir/IR/Operation.h"

namespace strata {

/// Writes the attribute `strata.cost` of a command (ModelAttributes.h). Without it, or where it has
/// another form, nothing is written: costs are not needed to run a package.
flatbuffers::Offset<package::CommandCost> writeCommandCost(flatbuffers::FlatBufferBuilder &buffer,
                                                           mlir::Operation *command);

} // namespace strata

#endif // STRATA_LIB_TARGET_COMMANDCOSTS_H
