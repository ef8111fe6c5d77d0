//===- CommandUses.h - When buffers are in use ------------------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_COMMANDUSES_H
#define STRATA_LIB_SIM_COMMANDUSES_H

#include "strata-rt/package_generated.h"

#include <vector>

namespace strata::sim {

/// Numbers of commands, both included; first > last: never.
struct Lifetime {
  int first = 0, last = -1;
};

/// Pieces of the arena: from the first to the last command that names them.
std::vector<Lifetime> findArenaLifetimes(const package::Manifest &manifest);

/// Weight slots: for each weight that comes to them, from its Reload to the last command that reads
/// it before the next one.
std::vector<std::vector<Lifetime>> findWeightSlotLifetimes(const package::Manifest &manifest);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_COMMANDUSES_H
