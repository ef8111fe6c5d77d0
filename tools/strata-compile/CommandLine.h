//===- CommandLine.h - The options of strata-compile ------------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATACOMPILE_COMMANDLINE_H
#define STRATA_TOOLS_STRATACOMPILE_COMMANDLINE_H

#include "PlacementFlags.h"
#include "ReportFlags.h"

#include "strata/Pipeline.h"
#include "strata/lib/Target/Processor.h"

#include <optional>
#include <string>
#include <vector>

namespace strata {

/// What the command line asks for.
struct CommandLine {
  std::string input = {}, output = {}; ///< paths; "-": standard input and output
  Phase from = Phase::Input, to = Phase::Emit;
  std::optional<NumberFormat> compute = {}, cache = {}; ///< nothing: by the weights
  int64_t pageSize = 64;
  bool hasFormats = false; ///< any of the three was given
  std::string schedule = "declared";
  std::vector<Approximation> allowed = {};
  bool importRows = false, exportRows = false;
  PlacementOptions placement = {};
  bool splitAttention = false;
  std::string remarks = {}; ///< a regular expression of categories; empty: none
  std::vector<Processor> processors = {};
  bool keepInputModule = true;
  bool bytecode = false;                    ///< of what is written before the phase emit
  std::optional<ReportRequest> report = {}; ///< what to write instead of a module or a package
};

/// Reads the options. Nothing after an error, which is told on standard error. `--help` and
/// `--version` end the program.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

/// The choices of the command line, and for what it leaves open those that the module's weights ask
/// for.
PipelineOptions getPipelineOptions(const CommandLine &commandLine, mlir::ModuleOp module);

} // namespace strata

#endif // STRATA_TOOLS_STRATACOMPILE_COMMANDLINE_H
