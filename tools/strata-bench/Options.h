//===- Options.h - The command line of strata-bench -------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_BENCH_OPTIONS_H
#define STRATA_TOOLS_STRATA_BENCH_OPTIONS_H

#include "strata/lib/Bench/Placement.h"

namespace strata::bench {

extern const char kHelp[];

struct Options {
  enum class Command { Ceilings, Placement };
  Command command = Command::Ceilings;
  bool help = false, version = false;
  CeilingOptions ceilings; ///< its threads are those of both commands
  std::string package, weights, machine;
  PlacementOptions placement;
  std::string json; ///< file for lines of JSON; empty: none
};

/// Reads arguments, without the program's name. Errors say what was expected.
Expected<Options> parseOptions(const std::vector<std::string> &arguments);

} // namespace strata::bench

#endif // STRATA_TOOLS_STRATA_BENCH_OPTIONS_H
