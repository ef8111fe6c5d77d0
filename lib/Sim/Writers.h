//===- Writers.h - A simulation as text, JSON or a page ---------*- C++ -*-===//
#ifndef STRATA_LIB_SIM_WRITERS_H
#define STRATA_LIB_SIM_WRITERS_H

#include "strata/lib/Sim/Simulation.h"

#include <string>

namespace strata::sim {

std::string writeText(const Simulation &simulation);
std::string writeJson(const Simulation &simulation);
/// One page, with neither script nor anything from elsewhere.
std::string writeHtml(const Simulation &simulation);

/// The capacity calculator: what sequences take up by context, all in the near tier or with hot
/// sets of `slots` records for each cache that attention reads; 0: twice the rows of a token.
std::string writeSizes(const package::Manifest &manifest, Format caches, int64_t slots);

} // namespace strata::sim

#endif // STRATA_LIB_SIM_WRITERS_H
