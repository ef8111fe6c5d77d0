//===- CommandLine.h - The options of strata-tune ---------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATATUNE_COMMANDLINE_H
#define STRATA_TOOLS_STRATATUNE_COMMANDLINE_H

#include "strata/Pipeline.h"

#include <optional>
#include <string>

namespace strata::tune {

/// What the command line asks for.
struct CommandLine {
  std::string checkpoint, text;
  double maxLoss = 0;    ///< nats per byte
  int64_t context = 0;   ///< of the FLOPs; 0: the model's positions
  int64_t window = 1024; ///< bytes
  int64_t screening = 4; ///< windows
  int64_t chunk = 256;   ///< tokens of a step
  NumberFormat compute = NumberFormat::F32, cache = NumberFormat::F32;
  std::string json, picture, schedule; ///< files; empty: none
};

/// Reads the options. Nothing after an error, which is told on standard error. `--help` and
/// `--version` end the program.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

} // namespace strata::tune

#endif // STRATA_TOOLS_STRATATUNE_COMMANDLINE_H
