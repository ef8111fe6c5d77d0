//===- ReportFlags.h - The options of strata-compile --report ---*- C++ -*-===//
#ifndef STRATA_TOOLS_STRATACOMPILE_REPORTFLAGS_H
#define STRATA_TOOLS_STRATACOMPILE_REPORTFLAGS_H

#include "strata/lib/Report/Report.h"

#include "llvm/Support/CommandLine.h"

#include <optional>

namespace strata {

/// A report instead of a compilation.
struct ReportRequest {
  ReportFormat format = ReportFormat::Text;
  ReportOptions options = {};
};

/// What caches hold. Compilation knows the first two; reports know the records of serving systems
/// (StoredBytes.h) under the last two names.
enum class CacheChoice { F32, BF16, FP8 };

/// Lives as long as the program, like the other options.
class ReportFlags {
public:
  explicit ReportFlags(llvm::cl::OptionCategory &category);

  /// The request, or nothing when there is none. An error, which is told on standard error, for
  /// values out of range and for options of reports without --report.
  /// `hasMachine`: context and batch may stand without --report, since plans are made for them.
  mlir::FailureOr<std::optional<ReportRequest>> get(std::optional<CacheChoice> cache,
                                                    bool hasMachine) const;
  /// Context (0: not given) and batch. An error, which is told on standard error, for values out of
  /// range.
  mlir::FailureOr<std::pair<int64_t, int64_t>> getStepSizes() const;

private:
  llvm::cl::opt<ReportFormat> format;
  llvm::cl::opt<int64_t> context, batch;
  llvm::cl::opt<StepKind> step;
  llvm::cl::opt<StorageFormat> weights;
};

} // namespace strata

#endif // STRATA_TOOLS_STRATACOMPILE_REPORTFLAGS_H
