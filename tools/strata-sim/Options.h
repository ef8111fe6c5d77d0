//===- Options.h - The command line of strata-sim ---------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATA_SIM_OPTIONS_H
#define STRATA_TOOLS_STRATA_SIM_OPTIONS_H

#include "strata/lib/Sim/TraceRun.h"

#include <string>
#include <vector>

namespace strata::sim {

struct Options {
  enum class Report { Text, Json, Html };

  bool help = false, version = false;
  bool sizes = false; ///< the capacity calculator instead of a simulation
  std::string package, machine;
  SimulationOptions simulation;
  std::vector<std::string> rows; ///< files of --trace, one for each prompt
  int64_t promptTokens = 1, chunk = 256;
  int64_t slots = 0; ///< of --sizes; 0: twice the rows of a token
  Report report = Report::Text;
  std::string output, json, perfetto; ///< files; empty: none
};

/// Understands the arguments after the program's name. An error if one is unknown, lacks its value,
/// or contradicts another; what depends on package and machine is not checked here.
Expected<Options> parseOptions(const std::vector<std::string> &arguments);

/// What --help prints.
extern const char kHelp[];

} // namespace strata::sim

#endif // STRATA_TOOLS_STRATA_SIM_OPTIONS_H
