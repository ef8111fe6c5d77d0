//===- ShippedMachines.h - Descriptions within the program ------*- C++ -*-===//
#ifndef STRATA_LIB_MACHINE_SHIPPEDMACHINES_H
#define STRATA_LIB_MACHINE_SHIPPEDMACHINES_H

namespace strata {

struct ShippedMachine {
  const char *name;
  const char *text; ///< JSON
};

/// The files of lib/Machine/machines; the build writes them down as text.
inline constexpr ShippedMachine kShippedMachines[] = {
#include "strata/lib/Machine/ShippedMachines.inc"
};

} // namespace strata

#endif // STRATA_LIB_MACHINE_SHIPPEDMACHINES_H
