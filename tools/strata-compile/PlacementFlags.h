//===- PlacementFlags.h - The options of the phase place --------*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATACOMPILE_PLACEMENTFLAGS_H
#define STRATA_TOOLS_STRATACOMPILE_PLACEMENTFLAGS_H

#include "ReportFlags.h"

#include "strata/Pipeline.h"

namespace strata {

/// Lives as long as the program, like the other options.
class PlacementFlags {
public:
  explicit PlacementFlags(llvm::cl::OptionCategory &category);

  bool hasMachine() const { return !machine.empty(); }
  /// What was asked for; context and batch are options of reports as well. An error, which is told
  /// on standard error, for values out of range, for options without --machine, and when the phase
  /// place is not among those that run.
  mlir::FailureOr<PlacementOptions> get(const ReportFlags &report, bool isPlaced) const;

private:
  llvm::cl::opt<std::string> machine, nearBytes;
  llvm::cl::opt<int64_t> tokens;
  llvm::cl::opt<std::string> trace, readPlan, writePlan;
};

} // namespace strata

#endif // STRATA_TOOLS_STRATACOMPILE_PLACEMENTFLAGS_H
